//! Wasmtime: Cranelift, Winch and Pulley.

use super::{Engine, FUEL, Import, Instance, Kind, Module, Setup};
use crate::host::{self, Host, Shared};
use crate::stop::Stop;
use crate::stubs::{self, Stub};
use crate::wasi::{self, call, for_each_call};
use std::path::Path;
use std::sync::Arc;
use wasmtime::{
    Caller, Config, Extern, ExternType, Func, InstancePre, Linker, ResourceLimiter, Store, Trap, TypedFunc,
    Val,
};

/// Wasmtime with one of its compilers.
pub struct Wasmtime {
    engine: wasmtime::Engine,
    setup: Setup,
}

impl Wasmtime {
    /// The engine as Wasmtime sets it up by itself, save for what `setup` asks.
    ///
    /// # Errors
    /// Why this machine cannot have it.
    pub fn new(kind: Kind, setup: Setup) -> Result<Self, String> {
        let mut config = Config::new();
        config.epoch_interruption(setup.interruptible).consume_fuel(setup.fuel);
        match kind {
            #[cfg(feature = "winch")]
            Kind::WasmtimeWinch => {
                config.strategy(wasmtime::Strategy::Winch);
            }
            #[cfg(feature = "pulley")]
            Kind::WasmtimePulley => {
                config.target("pulley64").map_err(|error| format!("{error:#}"))?;
            }
            _ => {}
        }
        let engine = wasmtime::Engine::new(&config).map_err(|error| format!("{error:#}"))?;
        Ok(Self { engine, setup })
    }
}

impl Engine for Wasmtime {
    fn compile(&self, wasm: &[u8]) -> Result<Box<dyn Module>, Stop> {
        let module = wasmtime::Module::from_binary(&self.engine, wasm).map_err(Stop::refused)?;
        Ok(Box::new(Compiled { module, pre: None, setup: self.setup }))
    }

    unsafe fn load(&self, file: &Path) -> Result<Box<dyn Module>, Stop> {
        // SAFETY: the caller vouches for the file.
        let module = unsafe { wasmtime::Module::deserialize_file(&self.engine, file) };
        let module = module.map_err(|error| Stop::Fault(format!("{error:#}")))?;
        Ok(Box::new(Compiled { module, pre: None, setup: self.setup }))
    }

    fn interrupter(&self) -> Option<Box<dyn Fn() + Send>> {
        let engine = self.engine.clone();
        self.setup.interruptible.then(|| Box::new(move || engine.increment_epoch()) as Box<dyn Fn() + Send>)
    }
}

struct Compiled {
    module: wasmtime::Module,
    pre: Option<InstancePre<Owned>>,
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
    fn memory_growing(&mut self, now: usize, wanted: usize, most: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.shared.memory.may_grow(now, wanted, most, self.limit))
    }

    fn table_growing(&mut self, _: usize, wanted: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.shared.memory.table_may_grow(wanted))
    }
}

impl Module for Compiled {
    fn imports(&self) -> Vec<Import> {
        let own = |import: wasmtime::ImportType| Import {
            module: import.module().to_owned(),
            name: import.name().to_owned(),
        };
        self.module.imports().map(own).collect()
    }

    fn exports(&self) -> Vec<String> {
        self.module.exports().map(|export| export.name().to_owned()).collect()
    }

    fn compiled(&self) -> Option<Vec<u8>> {
        self.module.serialize().ok()
    }

    fn link(&mut self) -> Result<(), Stop> {
        let mut linker = Linker::new(self.module.engine());
        add_host(&mut linker).map_err(Stop::refused)?;
        if self.setup.stubs {
            add_stubs(&mut linker, &self.module).map_err(Stop::refused)?;
        }
        self.pre = Some(linker.instantiate_pre(&self.module).map_err(Stop::refused)?);
        Ok(())
    }

    fn instantiate(&self, host: Host) -> Result<Box<dyn Instance>, Stop> {
        let pre = self.pre.as_ref().ok_or_else(|| Stop::Fault("the module is not linked".to_owned()))?;
        let limiter = Limiter { shared: host.shared.clone(), limit: self.setup.memory_limit };
        let mut store = Store::new(self.module.engine(), Owned { host, limiter });
        store.limiter(|owned| &mut owned.limiter);
        if self.setup.fuel {
            store.set_fuel(FUEL).map_err(Stop::refused)?;
        }
        if self.setup.interruptible {
            store.set_epoch_deadline(1);
        }
        let instance = pre.instantiate(&mut store).map_err(|error| stopped(error, Stop::refused))?;
        Ok(Box::new(Running { store, instance, entry: None }))
    }
}

struct Running {
    store: Store<Owned>,
    instance: wasmtime::Instance,
    entry: Option<Entry>,
}

enum Entry {
    /// The usual: takes and gives nothing.
    Plain(TypedFunc<(), ()>),
    /// Gives so many values, which nobody wants.
    Giving(Func, usize),
}

impl Running {
    fn function(&mut self, name: &str) -> Result<Func, Stop> {
        let found = self.instance.get_func(&mut self.store, name);
        found.ok_or_else(|| Stop::Refused(format!("the module exports no function {name:?}")))
    }
}

impl Instance for Running {
    fn bind(&mut self, entry: &str) -> Result<(), Stop> {
        let function = self.function(entry)?;
        let kind = function.ty(&self.store);
        if kind.params().len() > 0 {
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
        end.map_err(|error| stopped(error, |other| Stop::Trap(format!("{other:#}"))))
    }

    fn call(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop> {
        let function = self.function(export)?;
        let arguments: Vec<Val> = arguments.iter().map(|&number| Val::I32(number)).collect();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        function
            .call(&mut self.store, &arguments, &mut results)
            .map_err(|error| stopped(error, |other| Stop::Trap(format!("{other:#}"))))?;
        Ok(results.first().and_then(Val::i32))
    }

    fn memory(&mut self) -> &mut [u8] {
        match self.instance.get_memory(&mut self.store, "memory") {
            Some(memory) => memory.data_mut(&mut self.store),
            None => &mut [],
        }
    }

    fn fuel(&mut self) -> Option<u64> {
        self.store.get_fuel().ok().map(|left| FUEL - left)
    }
}

/// Why a call did not return: our own host's word, a trap, or something else.
fn stopped(error: wasmtime::Error, otherwise: impl FnOnce(wasmtime::Error) -> Stop) -> Stop {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stop.clone();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => Stop::Interrupted,
        Some(trap) => Stop::Trap(crate::stop::one_line(&format!("{trap}: {error:?}"))),
        None => otherwise(error),
    }
}

/// The markers and WASI.
fn add_host(linker: &mut Linker<Owned>) -> wasmtime::Result<()> {
    linker.func_wrap(host::MODULE, "startup", |caller: Caller<'_, Owned>| caller.data().host.startup())?;
    linker.func_wrap(host::MODULE, "finish", |caller: Caller<'_, Owned>| caller.data().host.finish())?;
    macro_rules! add {
        ($($kind:ident $name:ident($($argument:ident: $type:ty),*);)*) => {
            $(
                linker.func_wrap(
                    wasi::MODULE,
                    stringify!($name),
                    |mut caller: Caller<'_, Owned> $(, $argument: $type)*| -> wasmtime::Result<i32> {
                        let (memory, owned) = memory_and_owned(&mut caller)?;
                        Ok(call::$name(&mut owned.host, memory $(, $argument)*)?)
                    },
                )?;
            )*
        };
    }
    for_each_call!(add);
    linker.func_wrap(wasi::MODULE, "proc_exit", |mut caller: Caller<'_, Owned>, code: i32| {
        wasmtime::Result::<()>::Err(wasi::proc_exit(&mut caller.data_mut().host, code).into())
    })?;
    Ok(())
}

fn memory_and_owned<'a>(
    caller: &'a mut Caller<'_, Owned>,
) -> wasmtime::Result<(&'a mut [u8], &'a mut Owned)> {
    match caller.get_export("memory") {
        Some(Extern::Memory(memory)) => Ok(memory.data_and_store_mut(caller)),
        _ => Err(Stop::Trap("it called WASI and exports no memory".to_owned()).into()),
    }
}

fn add_stubs(linker: &mut Linker<Owned>, module: &wasmtime::Module) -> wasmtime::Result<()> {
    for import in module.imports() {
        let (Some(stub), ExternType::Func(kind)) = (stubs::stub(import.module(), import.name()), import.ty())
        else {
            continue;
        };
        let name = import.name().to_owned();
        linker.func_new(import.module(), import.name(), kind.clone(), move |_, arguments, results| {
            for (result, kind) in results.iter_mut().zip(kind.results()) {
                *result = Val::default_for_ty(&kind)
                    .ok_or_else(|| wasmtime::Error::msg("a stub cannot give such a value"))?;
            }
            match stub {
                Stub::Identity => {
                    if let (Some(result), Some(argument)) = (results.first_mut(), arguments.first()) {
                        *result = *argument;
                    }
                }
                Stub::Zero => {}
                Stub::Forbidden => return Err(Stop::Trap(stubs::forbidden(&name)).into()),
            }
            Ok(())
        })?;
    }
    Ok(())
}
