//! Wasmer's linear memories and tables within our limits, and the most that a module had.

use crate::host::{MOST_ELEMENTS, Shared};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use wasmer::sys::vm::{
    LinearMemory, MemoryStyle, TableStyle, ThreadConditions, VMConfig, VMMemory, VMMemoryDefinition,
    VMSharedMemory, VMTable, VMTableDefinition,
};
use wasmer::sys::{BaseTunables, Tunables};
use wasmer::{MemoryError, MemoryType, Pages, TableType};

/// The state of the replication under way. An engine's tunables are made once, and a replication is one of many.
pub type Current = Arc<Mutex<Option<Arc<Shared>>>>;

/// Wasmer's own way to make memories and tables, with limits.
pub struct Limits {
    /// What Wasmer does by itself.
    pub base: BaseTunables,
    /// Whose memory it is.
    pub current: Current,
    /// Bytes of linear memory that a module may have.
    pub limit: Option<u64>,
}

impl Limits {
    fn limited(&self, memory: VMMemory, kind: &MemoryType) -> VMMemory {
        let shared = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match shared {
            Some(shared) => {
                let maximum = kind.maximum.map(|pages| pages.bytes().0);
                VMMemory(Box::new(Limited { inner: memory, shared, maximum, limit: self.limit }))
            }
            None => memory,
        }
    }

    /// Whether a memory may begin as its type says.
    fn allow(&self, kind: &MemoryType) -> Result<(), MemoryError> {
        let shared = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if shared.is_none_or(|shared| shared.memory.may_grow(0, kind.minimum.bytes().0, None, self.limit)) {
            return Ok(());
        }
        Err(MemoryError::Generic("it begins with more memory than the limit".to_owned()))
    }
}

/// A table's type with no more elements than a module may have.
fn bounded(kind: &TableType) -> TableType {
    let most = MOST_ELEMENTS as u32;
    TableType { maximum: Some(kind.maximum.map_or(most, |maximum| maximum.min(most))), ..*kind }
}

impl Tunables for Limits {
    fn memory_style(&self, memory: &MemoryType) -> MemoryStyle {
        self.base.memory_style(memory)
    }

    fn table_style(&self, table: &TableType) -> TableStyle {
        self.base.table_style(table)
    }

    fn create_host_memory(&self, kind: &MemoryType, style: &MemoryStyle) -> Result<VMMemory, MemoryError> {
        self.allow(kind)?;
        Ok(self.limited(self.base.create_host_memory(kind, style)?, kind))
    }

    unsafe fn create_vm_memory(
        &self,
        kind: &MemoryType,
        style: &MemoryStyle,
        place: NonNull<VMMemoryDefinition>,
    ) -> Result<VMMemory, MemoryError> {
        self.allow(kind)?;
        // SAFETY: the caller's promise about `place` is handed on.
        let memory = unsafe { self.base.create_vm_memory(kind, style, place)? };
        Ok(self.limited(memory, kind))
    }

    fn create_host_table(&self, kind: &TableType, style: &TableStyle) -> Result<VMTable, String> {
        self.base.create_host_table(&bounded(kind), style)
    }

    unsafe fn create_vm_table(
        &self,
        kind: &TableType,
        style: &TableStyle,
        place: NonNull<VMTableDefinition>,
    ) -> Result<VMTable, String> {
        // SAFETY: the caller's promise about `place` is handed on.
        unsafe { self.base.create_vm_table(&bounded(kind), style, place) }
    }

    fn vmconfig(&self) -> &VMConfig {
        self.base.vmconfig()
    }
}

/// A memory that asks before it grows.
#[derive(Debug)]
struct Limited {
    inner: VMMemory,
    shared: Arc<Shared>,
    maximum: Option<usize>,
    limit: Option<u64>,
}

impl LinearMemory for Limited {
    fn ty(&self) -> MemoryType {
        self.inner.0.ty()
    }

    fn size(&self) -> Pages {
        self.inner.0.size()
    }

    fn style(&self) -> MemoryStyle {
        self.inner.0.style()
    }

    fn grow(&mut self, delta: Pages) -> Result<Pages, MemoryError> {
        let now = self.size();
        let wanted = now.bytes().0.saturating_add(delta.bytes().0);
        if self.shared.memory.may_grow(now.bytes().0, wanted, self.maximum, self.limit) {
            self.inner.0.grow(delta)
        } else {
            Err(MemoryError::CouldNotGrow { current: now, attempted_delta: delta })
        }
    }

    fn vmmemory(&self) -> NonNull<VMMemoryDefinition> {
        self.inner.0.vmmemory()
    }

    fn try_clone(&self) -> Result<Box<dyn LinearMemory + Send + Sync + 'static>, MemoryError> {
        self.inner.0.try_clone()
    }

    fn copy(&self) -> Result<Box<dyn LinearMemory + Send + Sync + 'static>, MemoryError> {
        self.inner.0.copy()
    }

    fn as_shared(&self) -> Result<VMSharedMemory, MemoryError> {
        self.inner.0.as_shared()
    }

    fn thread_conditions(&self) -> Option<&ThreadConditions> {
        self.inner.0.thread_conditions()
    }
}
