//! A typed writer of HTML. Text and attribute values are escaped when they are written, tags and
//! attribute names are fixed words of this program, and there is no way to add a string as markup.
//!
//! It must not know what a page is about.

use std::fmt::Write as _;

/// One element or piece of text of a trusted page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Text(String),
    Element(Element),
}

/// An element with its attributes and children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    tag: Tag,
    attributes: Vec<(&'static str, Option<String>)>,
    children: Vec<Node>,
}

macro_rules! tags {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// The elements a trusted page may have: none of them can run or load anything.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Tag { $($variant),* }
        impl Tag {
            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

tags! {
    A "a", B "b", Button "button", Br "br", Code "code", Dd "dd", Div "div", Dl "dl", Dt "dt", Em "em",
    Fieldset "fieldset", Footer "footer", Form "form", H1 "h1", H2 "h2", H3 "h3", Header "header", Input "input",
    Label "label", Legend "legend", Li "li", Main "main", Nav "nav", Ol "ol", P "p", Pre "pre", Progress "progress",
    Section "section", Span "span", Strong "strong", Table "table", Tbody "tbody", Td "td", Textarea "textarea",
    Th "th", Thead "thead", Time "time", Tr "tr", Ul "ul",
}

/// Attribute names a page may use: no handler, no style, no source.
const ATTRIBUTES: &[&str] = &[
    "autocomplete",
    "autofocus",
    "checked",
    "class",
    "dir",
    "disabled",
    "for",
    "hidden",
    "id",
    "inputmode",
    "lang",
    "maxlength",
    "max",
    "method",
    "name",
    "role",
    "rows",
    "scope",
    "spellcheck",
    "tabindex",
    "title",
    "type",
    "value",
];

/// Starts an element.
pub fn el(tag: Tag) -> Element {
    Element { tag, attributes: Vec::new(), children: Vec::new() }
}

impl Element {
    /// Sets an attribute. The value may come from anywhere.
    ///
    /// # Panics
    /// When the name is not one a trusted page may use: a fault of this program, not of its input.
    #[must_use]
    pub fn attr(mut self, name: &'static str, value: impl Into<String>) -> Self {
        assert!(permitted(name), "the attribute `{name}` is not permitted on a trusted page");
        self.attributes.push((name, Some(value.into())));
        self
    }

    /// Sets an attribute without a value.
    #[must_use]
    pub fn flag(mut self, name: &'static str, on: bool) -> Self {
        assert!(permitted(name), "the attribute `{name}` is not permitted on a trusted page");
        if on {
            self.attributes.push((name, None));
        }
        self
    }

    /// Sets the class, instead of one that was set before.
    #[must_use]
    pub fn class(mut self, class: &'static str) -> Self {
        self.attributes.retain(|(name, _)| *name != "class");
        self.attr("class", class)
    }

    /// A link to another page of the same window. The path is made of fixed words and numbers.
    #[must_use]
    pub fn page(mut self, query: &PageQuery) -> Self {
        self.attributes.push(("href", Some(query.0.clone())));
        self
    }

    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.children.push(Node::Text(text.into()));
        self
    }

    #[must_use]
    pub fn child(mut self, child: impl Into<Node>) -> Self {
        self.children.push(child.into());
        self
    }

    #[must_use]
    pub fn children<N: Into<Node>>(mut self, children: impl IntoIterator<Item = N>) -> Self {
        self.children.extend(children.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn optional<N: Into<Node>>(self, child: Option<N>) -> Self {
        self.children(child)
    }

    /// Puts text into each empty element that has the attribute, by the attribute's value.
    #[must_use]
    pub fn filled(mut self, attribute: &str, text: &impl Fn(&str) -> Option<String>) -> Self {
        let named = self.attributes.iter().find(|(name, _)| *name == attribute).and_then(|(_, value)| value.as_deref());
        if self.children.iter().all(|child| *child == Node::Text(String::new()))
            && let Some(text) = named.and_then(text)
        {
            self.children = vec![Node::Text(text)];
        }
        let fill = |child| match child {
            Node::Element(element) => Node::Element(element.filled(attribute, text)),
            Node::Text(text) => Node::Text(text),
        };
        self.children = self.children.into_iter().map(fill).collect();
        self
    }

    /// The markup of this element.
    pub fn markup(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// The characters a reader sees, in order, without markup.
    pub fn visible_text(&self) -> String {
        let mut out = String::new();
        self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) {
        for child in &self.children {
            match child {
                Node::Text(text) => out.push_str(text),
                Node::Element(element) => element.write_text(out),
            }
        }
        out.push('\n');
    }

    fn write(&self, out: &mut String) {
        let name = self.tag.name();
        out.push('<');
        out.push_str(name);
        for (attribute, value) in &self.attributes {
            let _ = write!(out, " {attribute}");
            if let Some(value) = value {
                out.push_str("=\"");
                escape(value, out);
                out.push('"');
            }
        }
        out.push('>');
        if matches!(self.tag, Tag::Br | Tag::Input) {
            return;
        }
        for child in &self.children {
            match child {
                Node::Text(text) => escape(text, out),
                Node::Element(element) => element.write(out),
            }
        }
        let _ = write!(out, "</{name}>");
    }
}

fn permitted(name: &str) -> bool {
    ATTRIBUTES.contains(&name) || name.starts_with("aria-") || name.starts_with("data-")
}

/// The query of a link within one window, such as `?view=hex&page=2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuery(String);

impl PageQuery {
    pub fn new(view: &'static str, page: usize) -> Self {
        Self(format!("?view={view}&page={page}"))
    }

    #[must_use]
    pub fn at_part(mut self, part: usize) -> Self {
        let _ = write!(self.0, "#part-{part}");
        self
    }
}

impl From<Element> for Node {
    fn from(element: Element) -> Self {
        Self::Element(element)
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// NUL and CR would be changed by an HTML parser, so they never reach it as themselves.
fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\r' => out.push_str("&#13;"),
            '\0' => out.push('\u{FFFD}'),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_values_cannot_become_markup() {
        let element = el(Tag::P).attr("title", "\"><script>x</script>").text("<b onclick='x'>&amp;</b>");
        assert_eq!(
            element.markup(),
            "<p title=\"&quot;&gt;&lt;script&gt;x&lt;/script&gt;\">&lt;b onclick=&#39;x&#39;&gt;&amp;amp;&lt;/b&gt;</p>"
        );
    }

    #[test]
    #[should_panic(expected = "not permitted")]
    fn a_handler_cannot_be_written() {
        let _ = el(Tag::P).attr("onclick", "x");
    }

    #[test]
    fn elements_without_content_are_not_closed() {
        assert_eq!(el(Tag::Input).attr("type", "text").flag("disabled", true).markup(), "<input type=\"text\" disabled>");
    }
}
