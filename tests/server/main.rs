//! The whole provider over real HTTP: in this process with a clock of its own, or as the binary that
//! an operator runs.
//!
//! With `PORTEIRO_TEST_POSTGRES` set every test runs on that server, each in a schema of its own;
//! without it each has an SQLite file of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests measure timeout and run clients beside the server"
)]

mod account_states;
mod agent_limits;
mod agent_limits_in_flight;
mod alert_floods;
mod alerts;
mod api;
mod api_caller;
mod api_export;
mod api_keys;
mod api_matrix;
mod attestation;
mod authenticator;
mod authorization;
mod authorization_details;
mod authorize_answers;
mod awaited_commits;
mod backchannel;
mod backups;
mod bad_days;
mod binary;
mod bounds;
mod brand;
mod browser;
mod browser_screens;
mod certificate_command;
mod certificate_holder;
mod certificates_by_hand;
mod changing;
mod channels;
mod chaos;
mod chromium;
mod ciba;
mod ciba_asking;
mod ciba_attacks;
mod ciba_flows;
mod ciba_ping;
mod claims_hook;
mod claims_parameter;
mod client_assertions;
mod client_control;
mod client_failures;
mod client_key_sets;
mod client_logos;
mod client_metadata_documents;
mod codes;
mod commands;
#[path = "../conformance/mod.rs"]
mod conformance;
mod connections;
mod consents;
mod contexts;
#[path = "../shared/database.rs"]
mod database;
mod delegation_tree;
mod dev;
mod device;
mod device_people;
mod directory_commands;
#[path = "../shared/dns_server.rs"]
#[expect(dead_code, reason = "the tests of the kernel ask for addresses")]
mod dns_server;
mod doctor;
mod documents;
mod domain_checks;
mod domain_commands;
mod domains;
mod dpop;
mod dpop_nonces;
mod drain;
mod edge;
mod epochs;
mod example_agent;
mod exchange;
mod exchange_parallel;
mod exchange_trees;
mod failing_over;
mod families;
mod fetching_for_strangers;
mod flows;
mod fresh;
mod guessing;
mod held;
mod http;
mod impersonation;
mod imported;
mod indistinguishable;
mod introspection;
mod invitation_limits;
mod invitations;
mod invited_again;
mod jarm;
mod key_holder;
mod key_rotation;
mod keys;
#[cfg(feature = "pkcs11")]
mod keys_in_bad_hardware;
#[cfg(feature = "pkcs11")]
mod keys_in_hardware;
mod lever_commands;
mod levers;
mod levers_counted;
mod levers_raced;
mod linking;
mod links;
mod locked_out;
mod logout;
mod logout_attacks;
mod mail_allowance;
mod mail_origins;
mod mailbox;
mod mails;
mod managed;
mod me;
mod me_account;
mod me_connected;
mod me_passkeys;
mod metadata;
mod moved_redirects;
mod moves;
mod moving;
mod mtls;
mod mtls_reload;
mod new_credentials;
mod newcomers;
mod nodes;
mod openapi_document;
mod operator;
mod operator_recovery;
mod organization_deletion;
mod organization_export;
#[cfg(feature = "otel")]
mod otel;
mod other_provider;
mod outcomes;
mod outside;
mod own_postgres;
mod page_forms;
mod pairwise;
mod par;
mod passing_on;
mod passkey_attacks;
mod passkey_ceremonies;
#[path = "../shared/passkey_device.rs"]
mod passkey_device;
mod passkey_signals;
mod passkeys;
mod passwords;
mod person;
#[path = "../shared/place_database.rs"]
mod place_database;
mod playbooks;
mod playground;
mod possession_table;
mod postgres_backups;
mod profiles;
mod programs;
mod protected_resource;
mod races;
mod recovery;
mod recovery_codes;
mod recovery_on_the_way;
mod refusals;
mod registered;
mod registration;
mod remembered;
mod request_objects;
mod required_assurance;
mod reserved_names;
mod revoked_meanwhile;
mod rollback;
mod rotation;
mod rows;
mod scim_attacks;
mod scim_bounds;
mod scim_bulk;
mod scim_caller;
mod scim_directories;
mod scim_groups;
mod scim_hostile;
mod scim_pages;
mod scim_people;
mod scim_races;
mod scim_tester;
mod scim_tokens;
mod scim_trail;
mod scim_versions;
mod scim_waiting;
mod screens_account;
mod screens_account_pages;
mod screens_approval;
mod screens_connections;
mod screens_consent;
mod screens_domains;
mod screens_identities;
mod screens_invited;
mod screens_kept;
mod screens_off;
mod screens_organization;
mod screens_passkeys;
mod screens_recovery;
mod screens_scim;
mod screens_sign_in;
mod screens_sso;
mod screens_trouble;
mod sector_host;
#[expect(clippy::disallowed_types, reason = "a device draws for itself")]
#[path = "../shared/security_key.rs"]
mod security_key;
mod security_log;
mod seed_sentences;
#[path = "../shared/server_pair.rs"]
#[expect(dead_code, reason = "the tests of the kernel hold up a standby as well")]
mod server_pair;
mod session_edges;
mod several_accounts;
#[path = "../shared/world.rs"]
mod shared;
mod shell;
mod sign_in;
mod sign_up;
mod signed_requests;
mod signing_client;
mod silent_hosts;
mod site;
#[path = "../shared/smtp_server.rs"]
mod smtp_server;
mod social;
mod sso_approvals;
mod sso_attacks;
mod sso_callback;
mod sso_freshness;
mod sso_logout;
mod sso_oidc_provider;
mod sso_porteiro;
mod sso_races;
mod sso_scene;
mod sso_scope;
mod sso_takeovers;
mod sso_trials;
mod statements;
mod step_up;
mod stolen_on_two_nodes;
mod superseded;
mod support;
mod suspension_races;
mod tab;
mod template;
mod test_options;
mod tls;
#[cfg(feature = "pkcs11")]
mod token_scene;
mod tokens;
mod totp_enrolment;
mod toy_flow;
mod unused_clients;
mod upgrades;
#[path = "../shared/upstream_provider.rs"]
#[expect(dead_code, reason = "the tests of the relying party have it misbehave in more ways")]
mod upstream_provider;
mod userinfo;
mod webhook_receiver;
mod webhooks;
mod well_known;
mod zone_server;
