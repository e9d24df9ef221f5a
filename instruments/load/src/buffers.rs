//! Buffers that the kernel chooses from when bytes come: a ring of provided buffers (io_uring_register_buf_ring(3)).

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// The group's number.
pub const GROUP: u16 = 0;
/// Bytes of one buffer: a small response whole; a large one comes in several.
const SIZE: usize = 4096;
/// Fewest and most buffers: few stay in the cache, and too few end multishot receives.
const COUNT: (u32, u32) = (256, 4096);

/// The ring of buffers of one thread.
pub struct Buffers {
    ring: *mut BufRingEntry,
    layout: Layout,
    count: u16,
    tail: u16,
    memory: Memory,
}

/// The memory of the buffers.
#[derive(Default)]
pub struct Memory(Vec<u8>);

impl Memory {
    /// The first `length` bytes of the buffer number `id`.
    #[inline]
    pub fn get(&self, id: u16, length: usize) -> &[u8] {
        let start = usize::from(id) * SIZE;
        &self.0[start..start + length]
    }
}

impl Buffers {
    /// Registers buffers for so many connections.
    pub fn new(uring: &IoUring, connections: u32) -> Result<Self, String> {
        let count = connections.next_power_of_two().clamp(COUNT.0, COUNT.1) as u16;
        let layout = Layout::from_size_align(usize::from(count) * size_of::<BufRingEntry>(), 4096)
            .map_err(|error| error.to_string())?;
        // SAFETY: the layout is not empty.
        let ring = unsafe { alloc_zeroed(layout) }.cast::<BufRingEntry>();
        if ring.is_null() {
            return Err("no memory for the ring of buffers".into());
        }
        let memory = Memory(vec![0; usize::from(count) * SIZE]);
        let mut buffers = Self { ring, layout, count, tail: 0, memory };
        // SAFETY: the ring is page-aligned, has `count` entries and outlives the registration: the io_uring that uses it is
        // closed before (field order in its owner).
        unsafe { uring.submitter().register_buf_ring_with_flags(ring as u64, count, GROUP, 0) }
            .map_err(|error| format!("io_uring_register of provided buffers: {error}"))?;
        (0..count).for_each(|id| buffers.put_back(id));
        Ok(buffers)
    }

    /// Lends the memory out while its bytes are looked at.
    #[inline]
    pub fn lend(&mut self) -> Memory {
        std::mem::take(&mut self.memory)
    }

    /// Takes the memory back.
    #[inline]
    pub fn take_back(&mut self, memory: Memory) {
        self.memory = memory;
    }

    /// Gives a buffer to the kernel again.
    #[inline]
    pub fn put_back(&mut self, id: u16) {
        let index = self.tail & (self.count - 1);
        let address = self.memory.0.as_ptr() as u64 + u64::from(id) * SIZE as u64;
        // SAFETY: the index is inside the ring, whose entries only we write; the tail is published after the entry.
        unsafe {
            let entry = &mut *self.ring.add(usize::from(index));
            entry.set_addr(address);
            entry.set_len(SIZE as u32);
            entry.set_bid(id);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.ring).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and the kernel no longer uses it (see `new`).
        unsafe { dealloc(self.ring.cast(), self.layout) };
    }
}
