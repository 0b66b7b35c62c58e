//! A token: sessions with it, its PIN, and the keys of ours in it.
//!
//! The states of a token are two. It is *available* until a call fails that a new session does not mend; from then on
//! nothing is signed and no caller waits for it, until the next reading of its keys succeeds ([`Token::signing_keys`], which
//! the keeper of keys asks for every few seconds). A session that was lost is opened anew once for each call.
//!
//! A wrong PIN is tried once: tokens lock themselves after a few. It is tried again when its file has changed.

use super::{
    TokenProblem, TokenSettings,
    object::{self, KeyObject},
};
use crate::{
    crypto::{
        KeyError, Signer, SigningKey,
        keys::{
            Fault, GenerateError, GeneratedKey, Problem, Purpose, SigningKeyFile, read_private,
        },
    },
    domain::{Fingerprint, Timestamp, signing_keys::SigningAlgorithm},
};
use aws_lc_rs::digest::{SHA256, digest};
use cryptoki::{
    context::{CInitializeArgs, CInitializeFlags, Pkcs11},
    error::{Error, RvError},
    object::{Attribute, ObjectClass, ObjectHandle},
    session::{Session, UserType},
    slot::Slot,
    types::AuthPin,
};
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use zeroize::Zeroizing;

/// A token and what is open of it; clones are the same.
#[derive(Clone)]
pub struct Token(Arc<Inner>);

struct Inner {
    settings: TokenSettings,
    /// None until it is opened, and after it was lost.
    opened: RwLock<Opened>,
    /// The fingerprint of a PIN that the token has refused.
    refused_pin: Mutex<Option<Fingerprint>>,
    available: AtomicBool,
}

/// What is open.
#[derive(Default)]
struct Opened {
    /// Grows with each opening: handles of keys are good for one.
    generation: u64,
    library: Option<(Pkcs11, Slot)>,
    /// Sessions that no call uses now. All are logged in, for a login holds for the whole process.
    idle: Mutex<Vec<Session>>,
}

/// A private key in a token.
struct TokenKey {
    token: Token,
    id: Vec<u8>,
    /// Where it is, in one generation.
    handle: Mutex<Option<(u64, ObjectHandle)>>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Token({})", self.0.settings.label)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Token {
    /// Opens a token, or says why that cannot be.
    pub fn open(settings: TokenSettings) -> Result<Self, Fault> {
        let token = Self::unopened(settings);
        token.open_anew(0).map_err(|problem| token.fault(problem))?;
        Ok(token)
    }

    fn unopened(settings: TokenSettings) -> Self {
        Self(Arc::new(Inner {
            settings,
            opened: RwLock::default(),
            refused_pin: Mutex::default(),
            available: AtomicBool::new(true),
        }))
    }

    /// Says which token it is.
    pub fn describe(&self) -> String {
        let TokenSettings { module, label, .. } = &self.0.settings;
        format!("token {label} by {}", module.display())
    }

    /// Reads the keys of ours, or says everything that is wrong with them. What succeeds makes the token available again.
    pub fn signing_keys(&self) -> Result<Vec<SigningKeyFile>, Vec<Fault>> {
        let read = self.call(|session, _| {
            let mut keys = Vec::new();
            for (handle, label) in object::own_keys(session)? {
                keys.push((object::read(session, handle, &label)?, label));
            }
            Ok(keys)
        });
        self.note(read.as_ref().err());
        let (mut keys, mut faults) = (Vec::new(), Vec::new());
        for (key, label) in read.map_err(|problem| vec![self.fault(problem)])? {
            match key {
                Ok(key) => keys.push(self.file(key)),
                Err(problem) => faults.push(Fault { path: self.place(&label), problem }),
            }
        }
        if faults.is_empty() { Ok(keys) } else { Err(faults) }
    }

    /// Tells whether the token can make keys for an algorithm.
    pub fn makes(&self, algorithm: SigningAlgorithm) -> bool {
        let opened = self.0.opened.read().unwrap_or_else(PoisonError::into_inner);
        let Some((library, slot)) = &opened.library else { return false };
        let wanted = object::making(algorithm).0.mechanism_type();
        library.get_mechanism_info(*slot, wanted).is_ok()
    }

    /// Makes a key, which never leaves the token.
    pub fn generate(
        &self,
        algorithm: SigningAlgorithm,
        created_at: Timestamp,
    ) -> Result<GeneratedKey, GenerateError> {
        let label = object::label(algorithm, created_at);
        // It joins the halves, and two keys of one moment differ in it.
        let id =
            Fingerprint::of(format!("{label} {}", self.count()).as_bytes()).bytes()[..16].to_vec();
        let (mechanism, ways) = object::making(algorithm);
        let mut last = TokenProblem::Unable(algorithm.name());
        for way in ways {
            let made = self.call_writing(|session| {
                let (public, private) = templates(&label, &id, &way);
                session.generate_key_pair(&mechanism, &public, &private)?;
                let handle = object::find(session, &id)?;
                handle.map(|handle| object::read(session, handle, &label)).transpose()
            });
            match made {
                Ok(Some(Ok(key))) => {
                    let file = self.file(key);
                    let (purpose, kid) =
                        (Purpose::Signing(algorithm), file.signer.kid().to_owned());
                    return Ok(GeneratedKey { purpose, kid, path: file.path });
                }
                Ok(Some(Err(problem))) => {
                    return Err(GenerateError::Token(Fault { path: self.place(&label), problem }));
                }
                Ok(None) => {}
                Err(problem) => last = problem,
            }
        }
        Err(GenerateError::Token(self.fault(last)))
    }

    /// Destroys a key that was just made; what cannot be destroyed stays.
    pub fn destroy(&self, kid: &str) {
        let Ok(keys) = self.signing_keys() else { return };
        let Some(file) = keys.iter().find(|file| file.signer.kid() == kid) else { return };
        let name = file.path.display().to_string();
        let _ = self.call_writing(|session| {
            for (private, label) in object::own_keys(session)? {
                if name == self.place(&label).display().to_string() {
                    let label = Attribute::Label(label.into_bytes());
                    let public = [Attribute::Class(ObjectClass::PUBLIC_KEY), label];
                    session.destroy_object(private)?;
                    for half in session.find_objects(&public)? {
                        session.destroy_object(half)?;
                    }
                }
            }
            Ok(())
        });
    }

    /// Notes whether it answers, and says so where that is new.
    fn note(&self, problem: Option<&TokenProblem>) {
        let was_available = self.0.available.swap(problem.is_none(), Relaxed);
        match (was_available, problem) {
            (true, Some(why)) => {
                tracing::error!(%why, token = ?self, "the signing keys are out of reach");
            }
            (false, None) => tracing::info!(token = ?self, "the signing keys are in reach again"),
            _ => {}
        }
    }

    /// Counts the keys of ours; zero where they cannot be read.
    fn count(&self) -> usize {
        self.call(|session, _| object::own_keys(session)).map_or(0, |keys| keys.len())
    }

    fn file(&self, key: KeyObject) -> SigningKeyFile {
        let KeyObject { id, label, algorithm, created_at, public } = key;
        let held = TokenKey { token: self.clone(), id, handle: Mutex::default() };
        let signer = Signer::new(Arc::new(held), algorithm, public);
        let path = self.place(&label);
        SigningKeyFile { signer: Arc::new(signer), made_by_dev: false, created_at, path }
    }

    /// Names a key in the token (RFC 7512).
    fn place(&self, label: &str) -> PathBuf {
        let plain = |text: &str| text.replace(' ', "%20").replace(';', "%3B");
        format!("pkcs11:token={};object={}", plain(&self.0.settings.label), plain(label)).into()
    }

    fn fault(&self, problem: TokenProblem) -> Fault {
        let TokenSettings { module, pin_file, .. } = &self.0.settings;
        let path = match problem {
            TokenProblem::WrongPin | TokenProblem::UnusablePin | TokenProblem::PinFile(_) => {
                pin_file
            }
            _ => module,
        };
        Fault { path: path.clone(), problem: Problem::Token(problem) }
    }
}

/// What a pair is made with: the private half is kept in the token, and signs.
fn templates(label: &str, id: &[u8], way: &[Attribute]) -> (Vec<Attribute>, Vec<Attribute>) {
    let named = || {
        let (label, id) = (Attribute::Label(label.as_bytes().to_vec()), Attribute::Id(id.to_vec()));
        [Attribute::Token(true), label, id]
    };
    let mut public = vec![Attribute::Private(false), Attribute::Verify(true)];
    public.extend(named().into_iter().chain(way.iter().cloned()));
    let mut private = vec![
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
        Attribute::Sign(true),
    ];
    private.extend(named());
    (public, private)
}

impl Token {
    /// Calls the token in a session that may read; opens it anew once, where it was lost.
    fn call<T>(&self, call: impl Fn(&Session, u64) -> Result<T, Error>) -> Result<T, TokenProblem> {
        let seen = match self.try_call(&call) {
            Ok(done) => return Ok(done),
            Err((generation, _)) => generation,
        };
        self.open_anew(seen)?;
        self.try_call(&call).map_err(|(_, error)| away(&error))
    }

    /// Calls the token in a session of its own that may write.
    fn call_writing<T>(
        &self,
        call: impl Fn(&Session) -> Result<T, Error>,
    ) -> Result<T, TokenProblem> {
        // Opens the token, and shows that it answers.
        self.call(|_, _| Ok(()))?;
        let opened = self.0.opened.read().unwrap_or_else(PoisonError::into_inner);
        let Some((library, slot)) = &opened.library else {
            return Err(TokenProblem::Away(String::new()));
        };
        let session = library.open_rw_session(*slot).map_err(|error| away(&error))?;
        call(&session).map_err(|error| away(&error))
    }

    fn try_call<T>(
        &self,
        call: impl Fn(&Session, u64) -> Result<T, Error>,
    ) -> Result<T, (u64, Error)> {
        let opened = self.0.opened.read().unwrap_or_else(PoisonError::into_inner);
        let generation = opened.generation;
        let lost = |error| (generation, error);
        let Some((library, slot)) = &opened.library else {
            return Err(lost(Error::NullFunctionPointer));
        };
        let idle = locked(&opened.idle).pop();
        let session = match idle {
            Some(session) => session,
            None => library.open_ro_session(*slot).map_err(lost)?,
        };
        let done = call(&session, generation).map_err(lost)?;
        locked(&opened.idle).push(session);
        Ok(done)
    }

    /// Opens the token anew, unless another call has done so since this generation.
    fn open_anew(&self, seen: u64) -> Result<(), TokenProblem> {
        let mut opened = self.0.opened.write().unwrap_or_else(PoisonError::into_inner);
        if opened.generation != seen {
            return Ok(());
        }
        locked(&opened.idle).clear();
        if let Some((library, _)) = opened.library.take() {
            // Some modules see a token that came back only then. No call is under way.
            let _ = library.finalize();
        }
        let (library, slot) = self.find_token()?;
        let session = library.open_ro_session(slot).map_err(|error| away(&error))?;
        self.log_in(&session)?;
        let generation = opened.generation + 1;
        *opened =
            Opened { generation, library: Some((library, slot)), idle: Mutex::new(vec![session]) };
        Ok(())
    }

    fn find_token(&self) -> Result<(Pkcs11, Slot), TokenProblem> {
        let TokenSettings { module, label: wanted, .. } = &self.0.settings;
        let unusable = |error: Error| TokenProblem::Module(error.to_string());
        let library = Pkcs11::new(module).map_err(unusable)?;
        match library.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
            // By another token of this process.
            Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => {}
            Err(error) => return Err(unusable(error)),
        }
        let mut found = Vec::new();
        for slot in library.get_slots_with_initialized_token().map_err(|error| away(&error))? {
            let Ok(info) = library.get_token_info(slot) else { continue };
            if info.label() == wanted {
                return Ok((library, slot));
            }
            found.push(info.label().to_owned());
        }
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        Err(TokenProblem::NoToken { wanted: wanted.clone(), found })
    }

    fn log_in(&self, session: &Session) -> Result<(), TokenProblem> {
        let pin = self.pin()?;
        let fingerprint = Fingerprint::of(pin.as_bytes());
        let mut refused = locked(&self.0.refused_pin);
        if *refused == Some(fingerprint) {
            return Err(TokenProblem::WrongPin);
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
            Err(error) => Err(away(&error)),
        }
    }

    /// Reads the PIN: one line of a file that its owner alone can read.
    fn pin(&self) -> Result<Zeroizing<String>, TokenProblem> {
        let contents = read_private(&self.0.settings.pin_file);
        let contents = contents.map_err(|problem| TokenProblem::PinFile(problem.to_string()))?;
        let text = std::str::from_utf8(&contents).map_err(|_| TokenProblem::UnusablePin)?;
        let pin = text.trim_end_matches(['\r', '\n']);
        if pin.is_empty() || pin.contains(['\r', '\n']) {
            return Err(TokenProblem::UnusablePin);
        }
        Ok(Zeroizing::new(pin.to_owned()))
    }
}

fn away(error: &Error) -> TokenProblem {
    TokenProblem::Away(error.to_string())
}

impl SigningKey for TokenKey {
    fn signature(&self, algorithm: SigningAlgorithm, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        if !self.is_available() {
            return Err(KeyError::Away);
        }
        let (mechanism, is_hashed) = object::signing(algorithm);
        let hash = is_hashed.then(|| digest(&SHA256, message));
        let message = hash.as_ref().map_or(message, AsRef::as_ref);
        let signed = self.token.call(|session, generation| {
            let handle = self.find(session, generation)?;
            session.sign(&mechanism, handle, message)
        });
        signed.map_err(|problem| {
            // Until its keys can be read again no caller waits for it.
            self.token.note(Some(&problem));
            KeyError::Token(problem.to_string())
        })
    }

    fn is_available(&self) -> bool {
        self.token.0.available.load(Relaxed)
    }
}

impl TokenKey {
    fn find(&self, session: &Session, generation: u64) -> Result<ObjectHandle, Error> {
        let mut known = locked(&self.handle);
        match *known {
            Some((of, handle)) if of == generation => Ok(handle),
            _ => {
                let gone = || {
                    Error::Pkcs11(
                        RvError::KeyHandleInvalid,
                        cryptoki::context::Function::FindObjects,
                    )
                };
                let handle = object::find(session, &self.id)?.ok_or_else(gone)?;
                *known = Some((generation, handle));
                Ok(handle)
            }
        }
    }
}
