//! A run of the instrument: the module compiled once, its replications, and what the evaluator itself costs.

use crate::args::Settings;
use crate::calibrate::Empty;
use crate::engine::{Engine, Module};
use crate::files::{self, Fresh};
use crate::host::{Gift, Host, MODULE, Shared};
use crate::kept;
use crate::replicate::{self, Context, Ended, Entry};
use crate::report::{End, ModuleRecord, Replication};
use crate::stop::Stop;
use crate::teller::Teller;
use crate::watchdog::Watchdog;
use bakeoff_share::clock;
use bakeoff_share::failure::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The fresh folder of the replication under way, so that whoever ends the process can remove it.
pub type Current = Arc<Mutex<Option<PathBuf>>>;

/// Measures, and tells what comes of it.
///
/// # Errors
/// What hinders a measurement; what the module does wrong is a result, and no error.
pub fn measure(settings: &Settings, teller: &Teller, current: &Current) -> Result<(), Failure> {
    let path = settings.module.as_deref().unwrap_or(Path::new(""));
    let wasm = std::fs::read(path).map_err(Failure::cannot(path.display()))?;
    let engine = settings.engine.make(settings.setup()).map_err(Failure::CannotRun)?;
    let mut session = Session {
        settings,
        teller,
        current,
        watchdog: Watchdog::start(settings.timeout),
        engine: &*engine,
        record: blank(settings, path, wasm.len()),
    };
    match session.ready(&wasm) {
        Ok(module) => session.replicate(&*module),
        Err((phase, stop)) => {
            teller.module(&session.record);
            teller.replication(&unbegun(phase, Some(&Ended { stop: Some(stop), fuel: None })));
            teller.end(&End { event: "end", replications: 1, complete: false, calibration: None });
            Ok(())
        }
    }
}

struct Session<'a> {
    settings: &'a Settings,
    teller: &'a Teller,
    current: &'a Current,
    watchdog: Watchdog,
    engine: &'a dyn Engine,
    record: ModuleRecord,
}

impl Session<'_> {
    /// Makes the module ready, each step timed; fills the record of the module. An error says in which phase it came.
    fn ready(&mut self, wasm: &[u8]) -> Result<Box<dyn Module>, (&'static str, Stop)> {
        let timed = self.settings.timed();
        let mut module = match &self.settings.compiled {
            Some(folder) => self.kept(folder, wasm)?,
            None => self.compile(wasm)?,
        };
        self.record.imports = module.imports();
        self.record.markers = self.record.imports.iter().any(|import| import.module == MODULE);
        let began = clock::now_ns();
        self.watched("link", |_| module.link())?;
        self.record.link_s = timed.then(|| clock::seconds_between(began, clock::now_ns()));
        Ok(module)
    }

    fn compile(&mut self, wasm: &[u8]) -> Result<Box<dyn Module>, (&'static str, Stop)> {
        let began = clock::now_ns();
        let module = self.watched("compile", |session| session.engine.compile(wasm))?;
        self.record.compile_s = self.settings.timed().then(|| clock::seconds_between(began, clock::now_ns()));
        Ok(module)
    }

    /// The module from its kept form, which is made first if there is none. Who makes it loads it too, so that all
    /// processes run the same bytes from the same file.
    fn kept(&mut self, folder: &Path, wasm: &[u8]) -> Result<Box<dyn Module>, (&'static str, Stop)> {
        let file = kept::place(folder, wasm, self.settings.engine, self.settings.setup());
        if !file.exists() {
            let module = self.compile(wasm)?;
            match module.compiled() {
                Some(bytes) => kept::write(&file, &bytes).map_err(|stop| ("compile", stop))?,
                None => return Ok(module),
            }
        }
        let began = clock::now_ns();
        let module = self.watched("load", |session| {
            // SAFETY: the file is in a folder that is this program's alone, as --compiled says.
            unsafe { session.engine.load(&file) }.map_err(|stop| kept::damaged(&file, &stop))
        })?;
        self.record.load_s = self.settings.timed().then(|| clock::seconds_between(began, clock::now_ns()));
        Ok(module)
    }

    /// Does what the engine does before there is an instance, within the time limit.
    fn watched<T>(
        &self,
        phase: &'static str,
        work: impl FnOnce(&Self) -> Result<T, Stop>,
    ) -> Result<T, (&'static str, Stop)> {
        let (teller, record) = (self.teller.clone(), self.record.clone());
        self.watchdog.arm(None, move || {
            teller.module(&record);
            teller.replication(&unbegun(phase, None));
            teller.end_early(1);
        });
        let done = catch_unwind(AssertUnwindSafe(|| work(self)));
        self.watchdog.disarm();
        done.unwrap_or_else(|_| {
            Err(Stop::Fault("the engine panicked; its words are on standard error".to_owned()))
        })
        .map_err(|stop| (phase, stop))
    }

    fn replicate(&self, module: &dyn Module) -> Result<(), Failure> {
        self.teller.module(&self.record);
        let empty = if self.settings.timed() { Empty::touch(self.engine) } else { None };
        let entry = Entry::of(
            &module.exports(),
            &self.settings.entry,
            self.settings.stubs.is_some(),
            &self.settings.args,
        );
        let all = self.settings.warm_up + self.settings.replications;
        for index in 0..all {
            let replication = self.once(module, &entry, index)?;
            self.teller.replication(&replication);
        }
        let calibration = empty.and_then(|empty| empty.measure());
        self.teller.end(&End { event: "end", replications: all, complete: true, calibration });
        Ok(())
    }

    fn once(&self, module: &dyn Module, entry: &Entry, index: u32) -> Result<Replication, Failure> {
        let settings = self.settings;
        let fresh = self.fresh(index)?;
        let mut gift = Gift {
            args: std::iter::once(self.record.module.clone()).chain(settings.args.iter().cloned()).collect(),
            env: settings.env.clone(),
            dirs: settings.dirs.clone(),
            counting: settings.count_calls,
        };
        if let (Some(fresh), Some(guest)) = (&fresh, &settings.fresh_dir) {
            gift.dirs.push((fresh.path().to_owned(), guest.clone()));
        }
        let host = Host::new(&gift).map_err(Failure::cannot("a folder for the module cannot be opened"))?;
        let shared = Arc::clone(&host.shared);
        let context = Context {
            index,
            warm_up: index < settings.warm_up,
            markers: self.record.markers,
            timed: settings.timed(),
            counting: settings.count_calls,
        };
        self.arm(context, Arc::clone(&shared));
        let ended = replicate::run(module, host, entry, &shared);
        self.watchdog.disarm();
        let mut replication = replicate::record(context, &shared, Some(&ended));
        if let Some(fresh) = &fresh {
            replication.files = fresh.kept();
            replication.check = settings.check.as_ref().map(|command| files::check(command, fresh.path()));
        }
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(replication)
    }

    fn fresh(&self, index: u32) -> Result<Option<Fresh>, Failure> {
        let settings = self.settings;
        if settings.fresh_dir.is_none() {
            return Ok(None);
        }
        let (parent, stays) = match &settings.keep {
            Some(folder) => (folder, Some(index)),
            None => (&settings.scratch, None),
        };
        let fresh = Fresh::make(parent, &settings.copies, stays)
            .map_err(Failure::cannot("a fresh folder cannot be made"))?;
        if stays.is_none() {
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh.path().to_owned());
        }
        Ok(Some(fresh))
    }

    /// Sets the time limit of a replication.
    fn arm(&self, context: Context, shared: Arc<Shared>) {
        let (teller, current) = (self.teller.clone(), Arc::clone(self.current));
        let soft = self.engine.interrupter().map(|stop| -> Box<dyn FnOnce() + Send> { stop });
        self.watchdog.arm(soft, move || {
            teller.replication(&replicate::record(context, &shared, None));
            remove(&current);
            teller.end_early(context.index + 1);
        });
    }
}

/// Removes the fresh folder of the replication under way.
pub fn remove(current: &Current) {
    if let Some(folder) = current.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = std::fs::remove_dir_all(folder);
    }
}

fn blank(settings: &Settings, path: &Path, size: usize) -> ModuleRecord {
    ModuleRecord {
        event: "module",
        instrument: "bakeoff-wasm",
        version: env!("CARGO_PKG_VERSION"),
        module: path.display().to_string(),
        size: size as u64,
        engine: settings.engine,
        engine_version: settings.engine.version(),
        entry: settings.entry.clone(),
        markers: false,
        imports: Vec::new(),
        timed: settings.timed(),
        compile_s: None,
        load_s: None,
        link_s: None,
    }
}

/// The record of a replication that did not begin, because the module ended in this phase.
fn unbegun(phase: &'static str, ended: Option<&Ended>) -> Replication {
    let context = Context { index: 0, warm_up: false, markers: false, timed: false, counting: false };
    Replication { phase, ..replicate::record(context, &Shared::default(), ended) }
}
