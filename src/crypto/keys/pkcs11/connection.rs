//! A connection to a token: the module, sessions with it, and its PIN.
//!
//! A token is opened once, and anew where a session was lost. A PIN that it has refused is not tried again before its file
//! changes, and none is tried where one more wrong one would lock the token: tokens lock themselves after a few.

use super::{TokenProblem, TokenSettings, object::is_of_the_request};
use crate::{crypto::keys::read_private, domain::Fingerprint};
use cryptoki::{
    context::{CInitializeArgs, CInitializeFlags, Pkcs11},
    error::{Error, RvError},
    mechanism::MechanismType,
    session::{Session, UserType},
    slot::{Slot, TokenInfo},
    types::AuthPin,
};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use zeroize::Zeroizing;

pub(super) struct Connection {
    settings: TokenSettings,
    opened: RwLock<OpenToken>,
    /// The fingerprint of a PIN that the token has refused.
    refused_pin: Mutex<Option<Fingerprint>>,
}

/// What is open.
#[derive(Default)]
struct OpenToken {
    /// Grows with each opening: handles of keys are good for one.
    generation: u64,
    /// Loaded once: a library that others may have called is not unloaded.
    library: Option<Pkcs11>,
    /// Whether we have initialized it, and not another part of the process.
    is_initialized: bool,
    /// The token's place, while it is open.
    slot: Option<Slot>,
    /// Sessions that no call uses now. All are logged in, for a login holds for the whole process.
    idle: Mutex<Vec<Session>>,
    is_closed: bool,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a call did not succeed, in the opening of this generation; without an error the token was not open.
type CallFailure = (u64, Option<Error>);

impl Connection {
    pub(super) fn new(settings: TokenSettings) -> Self {
        Self { settings, opened: RwLock::default(), refused_pin: Mutex::default() }
    }

    /// Calls the token in a session that may read; opens it anew once, where it was lost.
    pub(super) fn call<T>(
        &self,
        call: impl Fn(&Session, u64) -> Result<T, Error>,
    ) -> Result<T, TokenProblem> {
        let seen = match self.try_call(&call) {
            Ok(done) => return Ok(done),
            // A new session would not mend that.
            Err((_, Some(error))) if is_of_the_request(&error) => return Err(problem_of(&error)),
            Err((generation, _)) => generation,
        };
        self.open_anew(seen)?;
        self.try_call(&call).map_err(|(_, error)| error.as_ref().map_or_else(unopened, problem_of))
    }

    /// Calls the token in a session of its own that may write.
    pub(super) fn call_writing<T>(
        &self,
        call: impl Fn(&Session) -> Result<T, Error>,
    ) -> Result<T, TokenProblem> {
        // Opens the token, and shows that it answers.
        self.call(|session, _| session.get_session_info().map(|_| ()))?;
        let opened = self.opened();
        let (library, slot) = opened.library.as_ref().zip(opened.slot).ok_or_else(unopened)?;
        let session = library.open_rw_session(slot).map_err(|error| problem_of(&error))?;
        call(&session).map_err(|error| problem_of(&error))
    }

    /// Opens the token, unless it is open.
    pub(super) fn open(&self) -> Result<(), TokenProblem> {
        self.open_anew(0)
    }

    /// Tells whether the token has a mechanism.
    pub(super) fn has(&self, mechanism: MechanismType) -> bool {
        let opened = self.opened();
        let found = opened.library.as_ref().zip(opened.slot);
        found.is_some_and(|(library, slot)| library.get_mechanism_info(slot, mechanism).is_ok())
    }

    /// Ends it for good: a module that is not finalized may fall over when the process ends.
    pub(super) fn close(&self) {
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        opened.end();
        opened.is_closed = true;
    }

    fn opened(&self) -> RwLockReadGuard<'_, OpenToken> {
        self.opened.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_call<T>(
        &self,
        call: impl Fn(&Session, u64) -> Result<T, Error>,
    ) -> Result<T, CallFailure> {
        let opened = self.opened();
        let generation = opened.generation;
        let lost = |error| (generation, Some(error));
        let open = opened.library.as_ref().zip(opened.slot);
        let (library, slot) = open.ok_or((generation, None))?;
        let idle = locked(&opened.idle).pop();
        let session = match idle {
            Some(session) => session,
            None => library.open_ro_session(slot).map_err(lost)?,
        };
        let done = call(&session, generation).map_err(lost)?;
        locked(&opened.idle).push(session);
        Ok(done)
    }

    /// Opens the token anew, unless another call has done so since this generation.
    fn open_anew(&self, seen: u64) -> Result<(), TokenProblem> {
        // No call is under way while this is held.
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        if opened.is_closed {
            return Err(unopened());
        }
        if opened.generation != seen {
            return Ok(());
        }
        // Some modules see a token that came back only when they are initialized anew.
        opened.end();
        let begun = self.begin(&mut opened);
        if begun.is_err() {
            opened.end();
        }
        begun
    }

    fn begin(&self, opened: &mut OpenToken) -> Result<(), TokenProblem> {
        let unusable = |error: Error| TokenProblem::Module(error.to_string());
        let library = match &opened.library {
            Some(library) => library.clone(),
            None => Pkcs11::new(&self.settings.module).map_err(unusable)?,
        };
        opened.library = Some(library.clone());
        match library.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
            Ok(()) => opened.is_initialized = true,
            // By another token of this process.
            Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => {}
            Err(error) => return Err(unusable(error)),
        }
        let (slot, info) = self.find_token(&library)?;
        let session = library.open_ro_session(slot).map_err(|error| problem_of(&error))?;
        self.log_in(&session, &info)?;
        opened.generation += 1;
        opened.slot = Some(slot);
        locked(&opened.idle).push(session);
        Ok(())
    }

    fn find_token(&self, library: &Pkcs11) -> Result<(Slot, TokenInfo), TokenProblem> {
        let wanted = &self.settings.label;
        let slots = library.get_slots_with_initialized_token();
        let mut found = Vec::new();
        for slot in slots.map_err(|error| problem_of(&error))? {
            let Ok(info) = library.get_token_info(slot) else { continue };
            if info.label() == wanted {
                return Ok((slot, info));
            }
            found.push(info.label().to_owned());
        }
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        Err(TokenProblem::NoToken { wanted: wanted.clone(), found })
    }

    fn log_in(&self, session: &Session, info: &TokenInfo) -> Result<(), TokenProblem> {
        let pin = self.pin()?;
        let fingerprint = Fingerprint::of(pin.as_bytes());
        let mut refused = locked(&self.refused_pin);
        if *refused == Some(fingerprint) {
            return Err(TokenProblem::WrongPin);
        }
        if info.user_pin_locked() {
            return Err(TokenProblem::PinLocked);
        }
        if info.user_pin_final_try() {
            return Err(TokenProblem::FinalTry);
        }
        let pin = AuthPin::new(pin.as_str().into());
        match session.login(UserType::User, Some(&pin)) {
            Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => Ok(()),
            Err(Error::Pkcs11(
                RvError::PinIncorrect | RvError::PinInvalid | RvError::PinLenRange,
                _,
            )) => {
                *refused = Some(fingerprint);
                Err(TokenProblem::WrongPin)
            }
            Err(Error::Pkcs11(RvError::PinLocked, _)) => Err(TokenProblem::PinLocked),
            Err(error) => Err(problem_of(&error)),
        }
    }

    /// Reads the PIN: one line of a file that its owner alone can read.
    fn pin(&self) -> Result<Zeroizing<String>, TokenProblem> {
        let contents = read_private(&self.settings.pin_file);
        let contents = contents.map_err(|problem| TokenProblem::PinFile(problem.to_string()))?;
        let text = std::str::from_utf8(&contents).map_err(|_| TokenProblem::UnusablePin)?;
        let pin = text.trim_end_matches(['\r', '\n']);
        if pin.is_empty() || pin.contains(['\r', '\n']) {
            return Err(TokenProblem::UnusablePin);
        }
        Ok(Zeroizing::new(pin.to_owned()))
    }
}

impl OpenToken {
    /// Gives everything back that is open.
    fn end(&mut self) {
        locked(&self.idle).clear();
        self.slot = None;
        if let Some(library) = self.library.clone().filter(|_| self.is_initialized) {
            // One that cannot be finalized is initialized still, and says so when it is opened anew.
            let _ = library.finalize();
        }
        self.is_initialized = false;
    }
}

fn unopened() -> TokenProblem {
    TokenProblem::Away("it is not open".to_owned())
}

fn problem_of(error: &Error) -> TokenProblem {
    if is_of_the_request(error) {
        TokenProblem::Refused(error.to_string())
    } else {
        TokenProblem::Away(error.to_string())
    }
}
