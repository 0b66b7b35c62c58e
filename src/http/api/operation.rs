//! One operation of the API: what it needs, takes and gives.

use super::{
    call::{Answer, Call},
    export,
    page::{PAGE_PARAMETERS, Page},
};
use crate::http::extract::json::BodyRule;
use axum::routing::MethodFilter;
use std::{future::Future, pin::Pin};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// A method of HTTP, as far as operations have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    pub fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// One operation: what it needs, what it takes and gives, and what does it.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Operation {
    pub verb: Verb,
    pub path: &'static str,
    /// Its name, in the OpenAPI document and in the security log.
    pub name: &'static str,
    pub summary: &'static str,
    /// The permission that a caller must hold.
    pub needs: &'static str,
    /// What its body is, if it takes one, and whether it must have one.
    pub takes: Option<(Described, BodyRule)>,
    pub status: u16,
    /// What it answers, if that has a body.
    pub gives: Option<Described>,
    /// Query parameters and what they are for.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The media type of what it answers.
    pub media: &'static str,
    /// It is a page of a list.
    pub is_list: bool,
    /// It changes what exists, and takes `If-Match`.
    pub at_version: bool,
    /// It makes what is not there yet, and then answers 201.
    pub may_make: bool,
    /// It makes what outlives a chain, such as a credential or an invitation: not for a token that is held
    /// for another party.
    pub in_person: bool,
    /// The person must have proved two factors.
    pub at_aal2: bool,
    /// Every caller says why, in `X-Reason`.
    pub with_reason: bool,
    /// A holder of `organizations:administer` may call it for another organization.
    pub reaches_across: bool,
    pub handle: fn(Call) -> Answering,
}

/// The media type of bodies, unless an operation says another.
pub const JSON: &str = "application/json";

/// How a type looks in the OpenAPI document.
pub type Described = fn() -> Schemas;

/// A schema, its name, and those it refers to.
pub struct Schemas {
    pub name: String,
    pub schema: RefOr<Schema>,
    pub others: Vec<(String, RefOr<Schema>)>,
}

fn described<T: ToSchema + PartialSchema>() -> Schemas {
    let mut others = Vec::new();
    T::schemas(&mut others);
    Schemas { name: T::name().into_owned(), schema: T::schema(), others }
}

/// A page has the name of what it lists: a schema has one name, whatever it is of.
fn described_page<T: ToSchema + PartialSchema>() -> Schemas {
    let Schemas { schema, mut others, .. } = described::<Page<T>>();
    let Schemas { name, schema: listed, others: more } = described::<T>();
    others.extend(more);
    others.push((name.clone(), listed));
    Schemas { name: format!("PageOf{name}"), schema, others }
}

impl Operation {
    pub(super) const fn new(
        (verb, path): (Verb, &'static str),
        name: &'static str,
        needs: &'static str,
        summary: &'static str,
        handle: fn(Call) -> Answering,
    ) -> Self {
        Self {
            verb,
            path,
            name,
            summary,
            needs,
            takes: None,
            status: 200,
            gives: None,
            parameters: &[],
            media: JSON,
            is_list: false,
            at_version: false,
            may_make: false,
            reaches_across: false,
            in_person: false,
            at_aal2: false,
            with_reason: false,
            handle,
        }
    }

    pub(super) const fn takes<T: ToSchema + PartialSchema>(mut self) -> Self {
        self.takes = Some((described::<T>, BodyRule::Required));
        self
    }

    /// The same, where the body may be left out.
    pub(super) const fn may_take<T: ToSchema + PartialSchema>(mut self) -> Self {
        self.takes = Some((described::<T>, BodyRule::Optional));
        self
    }

    pub(super) const fn gives<T: ToSchema + PartialSchema>(mut self, status: u16) -> Self {
        self.status = status;
        self.gives = Some(described::<T>);
        self
    }

    pub(super) const fn gives_nothing(mut self) -> Self {
        self.status = 204;
        self
    }

    /// A page of a list, which may be filtered.
    pub(super) const fn lists<T: ToSchema + PartialSchema>(
        mut self,
        parameters: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.gives = Some(described_page::<T>);
        self.is_list = true;
        self.parameters = parameters;
        self
    }

    /// The whole of a list, a line an entry.
    pub(super) const fn exports<T: ToSchema + PartialSchema>(
        mut self,
        parameters: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.gives = Some(described::<T>);
        self.media = export::LINES;
        self.parameters = parameters;
        self
    }

    /// What it answers is a text of this media type.
    pub(super) const fn in_media(mut self, media: &'static str) -> Self {
        self.media = media;
        self
    }

    pub(super) const fn with_reason(mut self) -> Self {
        self.with_reason = true;
        self
    }

    pub(super) const fn may_make(mut self) -> Self {
        self.may_make = true;
        self
    }

    pub(super) const fn reaches_across(mut self) -> Self {
        self.reaches_across = true;
        self
    }

    pub(super) const fn in_person(mut self) -> Self {
        self.in_person = true;
        self
    }

    pub(super) const fn at_aal2(mut self) -> Self {
        self.at_aal2 = true;
        self
    }

    pub(super) const fn at_version(mut self) -> Self {
        self.at_version = true;
        self
    }

    /// Lists the query parameters it takes.
    pub fn query_parameters(&self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        let paging: &'static [_] = if self.is_list { &PAGE_PARAMETERS } else { &[] };
        paging.iter().chain(self.parameters)
    }
}
