// A file of its own: inlined into their callers, the compiler would take these for mismatched pairs.
#include "tests/unit/lib/http/counting_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counts{false};
std::atomic<std::uint64_t> allocations{0};
thread_local bool is_excluded = false;

void count_one() {
  if (counts.load(std::memory_order_relaxed) && !is_excluded) {
    allocations.fetch_add(1, std::memory_order_relaxed);
  }
}

void* counted(std::size_t size) {
  count_one();
  if (void* memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  count_one();
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace outrigger::counting_new {

void exclude_this_thread() { is_excluded = true; }

void start() {
  allocations = 0;
  counts = true;
}

std::uint64_t stop() {
  counts = false;
  return allocations.load();
}

}  // namespace outrigger::counting_new
