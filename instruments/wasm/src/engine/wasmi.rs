//! Wasmi, an interpreter.

use super::{Engine, FUEL, Import, Instance, Module, Setup};
use crate::host::{self, Host, Shared};
use crate::stop::{Stop, one_line};
use crate::stubs::{self, Stub};
use crate::wasi::{self, call, for_each_call};
use std::sync::Arc;
use wasmi::errors::HostError;
use wasmi::{
    Caller, CompilationMode, Config, Error, Extern, ExternType, Func, Linker, ResourceLimiter, Store,
    TypedFunc, Val,
};
use wasmi_core::LimiterError;

impl HostError for Stop {}

/// Wasmi.
pub struct Wasmi {
    engine: wasmi::Engine,
    setup: Setup,
}

impl Wasmi {
    /// The engine as Wasmi sets it up by itself, save for what `setup` asks and one thing: by itself it translates a function when it
    /// is first called, which would be in the phases of the first replication, and in its fuel.
    pub fn new(setup: Setup) -> Self {
        let mut config = Config::default();
        config.compilation_mode(CompilationMode::Eager);
        config.consume_fuel(setup.fuel);
        Self { engine: wasmi::Engine::new(&config), setup }
    }
}

impl Engine for Wasmi {
    fn compile(&self, wasm: &[u8]) -> Result<Box<dyn Module>, Stop> {
        let module = wasmi::Module::new(&self.engine, wasm).map_err(Stop::refused)?;
        let linker = Linker::new(&self.engine);
        Ok(Box::new(Compiled { module, linker, setup: self.setup }))
    }
}

struct Compiled {
    module: wasmi::Module,
    linker: Linker<Owned>,
    setup: Setup,
}

/// What a store owns.
struct Owned {
    host: Host,
    limiter: Limiter,
}

struct Limiter {
    shared: Arc<Shared>,
    limit: Option<u64>,
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        now: usize,
        wanted: usize,
        most: Option<usize>,
    ) -> Result<bool, LimiterError> {
        Ok(self.shared.memory.may_grow(now, wanted, most, self.limit))
    }

    fn table_growing(&mut self, _: usize, wanted: usize, _: Option<usize>) -> Result<bool, LimiterError> {
        Ok(self.shared.memory.table_may_grow(wanted))
    }

    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        MOST_PARTS
    }

    fn memories(&self) -> usize {
        MOST_PARTS
    }
}

/// Tables, and memories, that an instance may have.
const MOST_PARTS: usize = 10_000;

impl Module for Compiled {
    fn imports(&self) -> Vec<Import> {
        let own = |import: wasmi::ImportType| Import {
            module: import.module().to_owned(),
            name: import.name().to_owned(),
        };
        self.module.imports().map(own).collect()
    }

    fn exports(&self) -> Vec<String> {
        self.module.exports().map(|export| export.name().to_owned()).collect()
    }

    fn link(&mut self) -> Result<(), Stop> {
        add_host(&mut self.linker).map_err(Stop::refused)?;
        if self.setup.stubs {
            add_stubs(&mut self.linker, &self.module).map_err(Stop::refused)?;
        }
        Ok(())
    }

    fn instantiate(&self, host: Host) -> Result<Box<dyn Instance>, Stop> {
        let limiter = Limiter { shared: host.shared.clone(), limit: self.setup.memory_limit };
        let mut store = Store::new(self.module.engine(), Owned { host, limiter });
        store.limiter(|owned| &mut owned.limiter);
        if self.setup.fuel {
            store.set_fuel(FUEL).map_err(Stop::refused)?;
        }
        let made = self.linker.instantiate_and_start(&mut store, &self.module);
        let instance = made.map_err(|error| stopped(&error, Stop::Refused))?;
        Ok(Box::new(Running { store, instance, entry: None }))
    }
}

struct Running {
    store: Store<Owned>,
    instance: wasmi::Instance,
    entry: Option<Entry>,
}

enum Entry {
    /// The usual: takes and gives nothing.
    Plain(TypedFunc<(), ()>),
    /// Gives so many values, which nobody wants.
    Giving(Func, usize),
}

impl Running {
    fn function(&self, name: &str) -> Result<Func, Stop> {
        let found = self.instance.get_func(&self.store, name);
        found.ok_or_else(|| Stop::Refused(format!("the module exports no function {name:?}")))
    }
}

impl Instance for Running {
    fn bind(&mut self, entry: &str) -> Result<(), Stop> {
        let function = self.function(entry)?;
        let kind = function.ty(&self.store);
        if !kind.params().is_empty() {
            return Err(Stop::Refused(format!("the entry {entry:?} wants arguments")));
        }
        self.entry = Some(match function.typed::<(), ()>(&self.store) {
            Ok(plain) => Entry::Plain(plain),
            Err(_) => Entry::Giving(function, kind.results().len()),
        });
        Ok(())
    }

    #[inline]
    fn enter(&mut self) -> Result<(), Stop> {
        let end = match &self.entry {
            Some(Entry::Plain(function)) => function.call(&mut self.store, ()),
            Some(Entry::Giving(function, count)) => {
                function.call(&mut self.store, &[], &mut vec![Val::I32(0); *count])
            }
            None => return Err(Stop::Fault("no entry is bound".to_owned())),
        };
        end.map_err(|error| stopped(&error, Stop::Trap))
    }

    fn call(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop> {
        let function = self.function(export)?;
        let arguments: Vec<Val> = arguments.iter().map(|&number| Val::I32(number)).collect();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        let end = function.call(&mut self.store, &arguments, &mut results);
        end.map_err(|error| stopped(&error, Stop::Trap))?;
        Ok(results.first().and_then(Val::i32))
    }

    fn memory(&mut self) -> &mut [u8] {
        match self.instance.get_memory(&self.store, "memory") {
            Some(memory) => memory.data_mut(&mut self.store),
            None => &mut [],
        }
    }

    fn fuel(&mut self) -> Option<u64> {
        self.store.get_fuel().ok().map(|left| FUEL - left)
    }
}

/// Why a call did not return: our own host's word, a trap, or something else.
fn stopped(error: &Error, otherwise: impl FnOnce(String) -> Stop) -> Stop {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stop.clone();
    }
    match error.as_trap_code() {
        Some(code) => Stop::Trap(code.trap_message().to_owned()),
        None => otherwise(one_line(&error.to_string())),
    }
}

/// The markers and WASI.
fn add_host(linker: &mut Linker<Owned>) -> Result<(), Error> {
    linker.func_wrap(host::MODULE, "startup", |caller: Caller<'_, Owned>| caller.data().host.startup())?;
    linker.func_wrap(host::MODULE, "finish", |caller: Caller<'_, Owned>| caller.data().host.finish())?;
    macro_rules! add {
        ($($kind:ident $name:ident($($argument:ident: $type:ty),*);)*) => {
            $(
                linker.func_wrap(
                    wasi::MODULE,
                    stringify!($name),
                    |mut caller: Caller<'_, Owned> $(, $argument: $type)*| -> Result<i32, Error> {
                        let (memory, owned) = memory_and_owned(&mut caller)?;
                        call::$name(&mut owned.host, memory $(, $argument)*).map_err(Error::host)
                    },
                )?;
            )*
        };
    }
    for_each_call!(add);
    linker.func_wrap(wasi::MODULE, "proc_exit", |mut caller: Caller<'_, Owned>, code: i32| {
        Result::<(), Error>::Err(Error::host(wasi::proc_exit(&mut caller.data_mut().host, code)))
    })?;
    Ok(())
}

fn memory_and_owned<'a>(caller: &'a mut Caller<'_, Owned>) -> Result<(&'a mut [u8], &'a mut Owned), Error> {
    match caller.get_export("memory") {
        Some(Extern::Memory(memory)) => Ok(memory.data_and_store_mut(caller)),
        _ => Err(Error::host(Stop::Trap("it called WASI and exports no memory".to_owned()))),
    }
}

fn add_stubs(linker: &mut Linker<Owned>, module: &wasmi::Module) -> Result<(), Error> {
    for import in module.imports() {
        let (Some(stub), ExternType::Func(kind)) = (stubs::stub(import.module(), import.name()), import.ty())
        else {
            continue;
        };
        let (name, results) = (import.name().to_owned(), kind.results().to_vec());
        linker.func_new(import.module(), import.name(), kind.clone(), move |_, arguments, outputs| {
            for (output, kind) in outputs.iter_mut().zip(&results) {
                *output = Val::default_for_ty(*kind);
            }
            match stub {
                Stub::Identity => {
                    if let (Some(output), Some(argument)) = (outputs.first_mut(), arguments.first()) {
                        *output = argument.clone();
                    }
                }
                Stub::Zero => {}
                Stub::Forbidden => return Err(Error::host(Stop::Trap(stubs::forbidden(&name)))),
            }
            Ok(())
        })?;
    }
    Ok(())
}
