//! Wasmer: Cranelift and Singlepass.

use super::wasmer_limits::{Current, Limits};
use super::{Engine, Import, Instance, Kind, Module, Setup};
use crate::host::{self, Host};
use crate::stop::{Stop, one_line};
use crate::stubs::{self, Stub};
use crate::wasi::{self, call, for_each_call};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use wasmer::sys::{BaseTunables, Cranelift, EngineBuilder, NativeEngineExt, Singlepass, Target};
use wasmer::{
    ExternType, Function, FunctionEnv, FunctionEnvMut, Imports, InstantiationError, Memory, RuntimeError,
    Store, StoreMut, TypedFunction, Value,
};

/// Wasmer with one of its compilers.
pub struct Wasmer {
    engine: wasmer::Engine,
    current: Current,
    setup: Setup,
}

impl Wasmer {
    /// The engine as Wasmer sets it up by itself, save for the limits.
    pub fn new(kind: Kind, setup: Setup) -> Self {
        let mut engine: wasmer::Engine = match kind {
            Kind::WasmerSinglepass => EngineBuilder::new(Singlepass::default()).engine().into(),
            _ => EngineBuilder::new(Cranelift::default()).engine().into(),
        };
        let current = Current::default();
        let base = BaseTunables::for_target(&Target::default());
        engine.set_tunables(Limits { base, current: Arc::clone(&current), limit: setup.memory_limit });
        Self { engine, current, setup }
    }

    fn of(&self, module: wasmer::Module) -> Box<dyn Module> {
        let (engine, current) = (self.engine.clone(), Arc::clone(&self.current));
        Box::new(Compiled { engine, module, current, setup: self.setup })
    }
}

impl Engine for Wasmer {
    fn compile(&self, wasm: &[u8]) -> Result<Box<dyn Module>, Stop> {
        let module = wasmer::Module::from_binary(&self.engine, wasm).map_err(Stop::refused)?;
        Ok(self.of(module))
    }

    unsafe fn load(&self, file: &Path) -> Result<Box<dyn Module>, Stop> {
        // SAFETY: the caller vouches for the file.
        let module = unsafe { wasmer::Module::deserialize_from_file(&self.engine, file) };
        Ok(self.of(module.map_err(|error| Stop::Fault(one_line(&error.to_string())))?))
    }
}

struct Compiled {
    engine: wasmer::Engine,
    module: wasmer::Module,
    current: Current,
    setup: Setup,
}

/// What a store owns.
struct Owned {
    host: Host,
    /// The module's exported memory; not there while it is instantiated.
    memory: Option<Memory>,
}

impl Module for Compiled {
    fn imports(&self) -> Vec<Import> {
        let own = |import: wasmer::ImportType| Import {
            module: import.module().to_owned(),
            name: import.name().to_owned(),
        };
        self.module.imports().map(own).collect()
    }

    fn exports(&self) -> Vec<String> {
        self.module.exports().map(|export| export.name().to_owned()).collect()
    }

    fn compiled(&self) -> Option<Vec<u8>> {
        self.module.serialize().ok().map(|bytes| bytes.to_vec())
    }

    /// Wasmer resolves imports for each store anew, so there is nothing to do before.
    fn link(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn instantiate(&self, host: Host) -> Result<Box<dyn Instance>, Stop> {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&host.shared));
        let mut store = Store::new(self.engine.clone());
        let owned = FunctionEnv::new(&mut store, Owned { host, memory: None });
        let mut imports = host_imports(&mut store, &owned, &self.module);
        if self.setup.stubs {
            add_stubs(&mut imports, &mut store, &owned, &self.module);
        }
        let instance =
            wasmer::Instance::new(&mut store, &self.module, &imports).map_err(|error| match error {
                InstantiationError::Start(error) => stopped(&error),
                InstantiationError::Link(wasmer::LinkError::Trap(error)) => stopped(&error),
                other => Stop::refused(other),
            })?;
        owned.as_mut(&mut store).memory = instance.exports.get_memory("memory").ok().cloned();
        Ok(Box::new(Running { store, owned, instance, entry: None }))
    }
}

struct Running {
    store: Store,
    owned: FunctionEnv<Owned>,
    instance: wasmer::Instance,
    entry: Option<Entry>,
}

enum Entry {
    /// The usual: takes and gives nothing.
    Plain(TypedFunction<(), ()>),
    /// Gives values, which nobody wants.
    Giving(Function),
}

impl Running {
    fn function(&self, name: &str) -> Result<Function, Stop> {
        let found = self.instance.exports.get_function(name).cloned();
        found.map_err(|_| Stop::Refused(format!("the module exports no function {name:?}")))
    }
}

impl Instance for Running {
    fn bind(&mut self, entry: &str) -> Result<(), Stop> {
        let function = self.function(entry)?;
        if function.param_arity(&self.store) > 0 {
            return Err(Stop::Refused(format!("the entry {entry:?} wants arguments")));
        }
        self.entry = Some(match function.typed::<(), ()>(&self.store) {
            Ok(plain) => Entry::Plain(plain),
            Err(_) => Entry::Giving(function),
        });
        Ok(())
    }

    #[inline]
    fn enter(&mut self) -> Result<(), Stop> {
        let end = match &self.entry {
            Some(Entry::Plain(function)) => function.call(&mut self.store),
            Some(Entry::Giving(function)) => function.call(&mut self.store, &[]).map(drop),
            None => return Err(Stop::Fault("no entry is bound".to_owned())),
        };
        end.map_err(|error| stopped(&error))
    }

    fn call(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop> {
        let arguments: Vec<Value> = arguments.iter().map(|&number| Value::I32(number)).collect();
        let end = self.function(export)?.call(&mut self.store, &arguments);
        Ok(end.map_err(|error| stopped(&error))?.first().and_then(Value::i32))
    }

    fn memory(&mut self) -> &mut [u8] {
        let memory = self.owned.as_ref(&self.store).memory.clone();
        match memory {
            // SAFETY: the module does not run now, and the slice borrows this instance, so nothing else sees the memory.
            Some(memory) => unsafe { bytes(&memory, &mut self.store) },
            None => &mut [],
        }
    }
}

/// The bytes of a memory, for as long as the store is borrowed.
///
/// # Safety
/// Nothing else may use or grow the memory meanwhile.
unsafe fn bytes<'a>(memory: &Memory, store: &'a mut impl wasmer::AsStoreRef) -> &'a mut [u8] {
    let view = memory.view(store);
    // SAFETY: the view says where the memory lies, and it stays there while nobody grows it, which the caller promises.
    unsafe { std::slice::from_raw_parts_mut(view.data_ptr(), view.data_size() as usize) }
}

/// Why a call did not return: our own host's word, or a trap.
fn stopped(error: &RuntimeError) -> Stop {
    match error.downcast_ref::<Stop>() {
        Some(stop) => stop.clone(),
        None => Stop::Trap(one_line(&error.message())),
    }
}

/// The markers and WASI, as far as the module imports them.
fn host_imports(store: &mut Store, owned: &FunctionEnv<Owned>, module: &wasmer::Module) -> Imports {
    let mut imports = Imports::new();
    let startup = |caller: FunctionEnvMut<'_, Owned>| caller.data().host.startup();
    let finish = |caller: FunctionEnvMut<'_, Owned>| caller.data().host.finish();
    for import in module.imports() {
        let name = import.name();
        let function = match (import.module(), name) {
            (host::MODULE, "startup") => Function::new_typed_with_env(store, owned, startup),
            (host::MODULE, "finish") => Function::new_typed_with_env(store, owned, finish),
            (wasi::MODULE, _) => match wasi_call(store, owned, name) {
                Some(function) => function,
                None => continue,
            },
            _ => continue,
        };
        imports.define(import.module(), name, function);
    }
    imports
}

fn wasi_call(store: &mut Store, owned: &FunctionEnv<Owned>, name: &str) -> Option<Function> {
    macro_rules! choose {
        ($($kind:ident $name:ident($($argument:ident: $type:ty),*);)*) => {
            match name {
                $(
                    stringify!($name) => Some(Function::new_typed_with_env(
                        store,
                        owned,
                        |mut caller: FunctionEnvMut<'_, Owned> $(, $argument: $type)*| -> Result<i32, RuntimeError> {
                            let (owned, mut store) = caller.data_and_store_mut();
                            let memory = memory(owned, &mut store)?;
                            call::$name(&mut owned.host, memory $(, $argument)*)
                                .map_err(|stop| RuntimeError::user(Box::new(stop)))
                        },
                    )),
                )*
                "proc_exit" => Some(Function::new_typed_with_env(
                    store,
                    owned,
                    |mut caller: FunctionEnvMut<'_, Owned>, code: i32| -> Result<(), RuntimeError> {
                        Err(RuntimeError::user(Box::new(wasi::proc_exit(&mut caller.data_mut().host, code))))
                    },
                )),
                _ => None,
            }
        };
    }
    for_each_call!(choose)
}

fn memory<'a>(owned: &Owned, store: &'a mut StoreMut<'_>) -> Result<&'a mut [u8], RuntimeError> {
    match &owned.memory {
        // SAFETY: the module waits for this call of its own, on this thread, and the call cannot grow the memory.
        Some(memory) => Ok(unsafe { bytes(memory, store) }),
        None => {
            let text = "it called WASI and exports no memory, or is not instantiated yet".to_owned();
            Err(RuntimeError::user(Box::new(Stop::Trap(text))))
        }
    }
}

fn add_stubs(imports: &mut Imports, store: &mut Store, owned: &FunctionEnv<Owned>, module: &wasmer::Module) {
    for import in module.imports() {
        let (Some(stub), ExternType::Function(kind)) =
            (stubs::stub(import.module(), import.name()), import.ty())
        else {
            continue;
        };
        let (name, results) = (import.name().to_owned(), kind.results().to_vec());
        let function =
            Function::new_with_env(store, owned, kind.clone(), move |_, arguments: &[Value]| match stub {
                Stub::Identity => Ok(arguments.iter().take(results.len()).cloned().collect()),
                Stub::Zero => Ok(results.iter().map(zero).collect()),
                Stub::Forbidden => Err(RuntimeError::user(Box::new(Stop::Trap(stubs::forbidden(&name))))),
            });
        imports.define(import.module(), import.name(), function);
    }
}

fn zero(kind: &wasmer::Type) -> Value {
    match kind {
        wasmer::Type::I32 => Value::I32(0),
        wasmer::Type::I64 => Value::I64(0),
        wasmer::Type::F32 => Value::F32(0.0),
        wasmer::Type::F64 => Value::F64(0.0),
        wasmer::Type::V128 => Value::V128(0),
        wasmer::Type::ExternRef => Value::ExternRef(None),
        wasmer::Type::ExceptionRef => Value::ExceptionRef(None),
        wasmer::Type::FuncRef => Value::FuncRef(None),
    }
}
