//! Endpoints: standards in, commands out, outcomes back as standard answers.
