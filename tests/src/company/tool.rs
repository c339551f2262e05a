//! The company's tools: one line each, with the address at which its system takes the call.

use serde::{Deserialize, Serialize};

/// The HTTP method of a tool's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Get,
    Post,
    Put,
}

macro_rules! tools {
    ($($variant:ident $name:literal $method:ident $path:literal;)*) => {
        /// A tool of the company, by the name that the effect table gives it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        pub enum Tool {
            $(#[serde(rename = $name)] $variant,)*
        }

        impl Tool {
            /// Every tool, in the order of the table below.
            pub const ALL: &[Tool] = &[$(Tool::$variant,)*];

            /// The name in the effect table.
            pub const fn name(self) -> &'static str {
                match self { $(Tool::$variant => $name,)* }
            }

            pub const fn method(self) -> Method {
                match self { $(Tool::$variant => Method::$method,)* }
            }

            /// The address below the company's URL; `{id}` is the one argument that stands in it.
            pub const fn path(self) -> &'static str {
                match self { $(Tool::$variant => $path,)* }
            }
        }
    };
}

tools! {
    // Tickets and customers.
    Search "search" Get "/search";
    GetTicket "get_ticket" Get "/tickets/{id}";
    ListOrders "list_orders" Get "/orders";
    GetCustomer "get_customer" Get "/customers/{id}";
    UpdateTicketTags "update_ticket_tags" Put "/tickets/{id}/tags";
    CreateTicket "create_ticket" Post "/tickets";
    CloseTicket "close_ticket" Post "/tickets/{id}/close";
    UpsertCustomer "upsert_customer" Put "/customers/{id}";
    CrmSetStatus "crm_set_status" Post "/crm/status";
    // Set off by `crm_set_status`, and callable like any other.
    ContractWorkflow "contract_workflow" Post "/workflows/contracts";
    ScheduleCall "schedule_call" Post "/workflows/calls";
    // Named like a read, and writes: what the label test has to catch.
    GetUser "get_user" Get "/users/{id}";
    // Mail.
    SendEmail "send_email" Post "/mail/messages";
    // Billing.
    GetInvoice "get_invoice" Get "/invoices/{id}";
    GetSubscription "get_subscription" Get "/subscriptions/{id}";
    GetPayee "get_payee" Get "/payees/{id}";
    GetOperation "get_operation" Get "/billing/operations/{id}";
    Refund "refund" Post "/billing/refunds";
    CancelSubscription "cancel_subscription" Post "/billing/cancellations";
    WireTransfer "wire_transfer" Post "/billing/wires";
    IssueCredit "issue_credit" Post "/billing/credits";
    // Where the `redirect` behaviour points: an effect here is a client that followed.
    Elsewhere "elsewhere" Post "/elsewhere";
}
