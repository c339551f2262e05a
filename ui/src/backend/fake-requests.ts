import type { InboxRow } from "./types";

/** A request of the invented core: what a row says, with its moments as seconds of the invented clock. */
export type InventedRequest = Omit<
  InboxRow,
  "expires_in_text" | "expires_soon" | "expires_at_text" | "received_at_text" | "tombstone_text" | "accessible_name"
> & {
  received_s: number;
  expires_s: number;
  ended: string | null;
};

export function rowName(request: InventedRequest): string {
  const { effect, reversibility, headline, argument_count, tool, agent, on_behalf_of, flags, approvals_text } = request;
  return [
    `${reversibility} ${effect}`,
    headline ?? `no summary template - open to read all ${argument_count} arguments`,
    on_behalf_of === null ? `${tool}, ${agent}` : `${tool}, ${agent} for ${on_behalf_of}`,
    ...flags.map((flag) => flag.text),
    `${approvals_text} approvals`,
  ].join(". ");
}

export function invented(request: string, change: Partial<InventedRequest> = {}): InventedRequest {
  return {
    request,
    state: "pending",
    effect: "money",
    reversibility: "compensable",
    headline: "Refund EUR 89.90 to invoice 842 of Example Parts GmbH",
    argument_count: "4",
    tool: "refund",
    agent: "billing",
    on_behalf_of: "Mira Beispiel",
    flags: [],
    approvals_text: "0 of 1",
    eligible: true,
    not_eligible_text: null,
    received_s: 0,
    expires_s: 1360,
    ended: null,
    ...change,
  };
}

/** A support team's queue on an ordinary afternoon; people and firms in it are invented. */
export function inventedRows(): InventedRequest[] {
  return [
    invented("01JD8V3K7Q", {
      reversibility: "irreversible",
      headline: "Pay EUR 4,200.00 to Acme Widgets (Fictional) Ltd",
      tool: "wire_transfer",
      agent: "treasury",
      on_behalf_of: "Dario Placeholder",
      flags: [{ id: "new_payee", text: "new payee" }],
      approvals_text: "1 of 2",
      eligible: false,
      not_eligible_text: "You cannot approve this: it needs the role treasury.",
      expires_s: 252,
    }),
    invented("01JD8V41ZM", {
      reversibility: "irreversible",
      headline: "Send a mail to mira.beispiel@customer.example: \u201cYour refund is on its way\u201d",
      tool: "send_email",
      agent: "support",
      expires_s: 52,
    }),
    invented("01JD8V4B2X", { expires_s: 1360 }),
    invented("01JD8V4F9R", {
      headline: "Cancel subscription S-3310 of Nimbus Sample Co at the end of November",
      tool: "cancel_subscription",
      expires_s: 1500,
    }),
    invented("01JD8V4M5T", {
      reversibility: "reversible",
      headline: "Issue a credit of EUR 25.00 to customer C-118, valid until 31 December, because the parcel arrived two days late and the replacement was sent to the old address",
      tool: "issue_credit",
      on_behalf_of: null,
      flags: [{ id: "hidden_characters", text: "contains hidden characters" }],
      expires_s: 3780,
    }),
    invented("01JD8V4W0H", {
      headline: null,
      argument_count: "7",
      tool: "crm_set_status",
      agent: "support",
      expires_s: 5400,
    }),
    invented("01JD8V5A3N", {
      effect: "write",
      headline: "Change the billing address of customer C-204",
      tool: "upsert_customer",
      agent: "support",
      on_behalf_of: "Jonas Mustermann",
      expires_s: 7200,
    }),
    invented("01JD8V2C8D", {
      headline: "Refund EUR 12.00 to invoice 817 of Lorem Hosting",
      state: "approved",
      ended: "approved by Bo Specimen 14:21",
      expires_s: 900,
    }),
  ];
}
