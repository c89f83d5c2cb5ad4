// Counts what the code under test allocates: malloc and its kind are taken over from the C library,
// which operator new calls as well, or AddressSanitizer is asked to tell. Nothing is kept beside an
// allocation; its size is what the allocator says.

#include "tests/harness/job/memory.hpp"

#include <atomic>
#include <cerrno>
#include <malloc.h>

#include "tests/harness/harness.hpp"
#include "tests/harness/job/gates.hpp"

namespace dist::harness {
namespace {

std::atomic<bool> counting = false;
std::atomic<long> held_bytes = 0;
std::atomic<long> peak_bytes = 0;
std::atomic<long> counted_stacks = 0;  // of held_bytes
std::atomic<long> allocations = 0;
thread_local bool is_counted = false;
thread_local int uncounted = 0;

bool counts() {
    return counting.load(std::memory_order_relaxed) && is_counted && uncounted == 0;
}

void note_peak(long bytes) {
    long peak = peak_bytes;
    while (bytes > peak && !peak_bytes.compare_exchange_weak(peak, bytes)) {
    }
}

void note_allocation(std::size_t size) {
    const long held = held_bytes += static_cast<long>(size);
    ++allocations;
    note_peak(held);
}

void note_freed_bytes(std::size_t size) {
    held_bytes -= static_cast<long>(size);
}

}  // namespace

Uncounted::Uncounted() {
    ++uncounted;
}
Uncounted::~Uncounted() {
    --uncounted;
}

void count_this_thread() {
    is_counted = true;
}

}  // namespace dist::harness

// NOLINTBEGIN(bugprone-reserved-identifier,cppcoreguidelines-no-malloc,readability-identifier-naming)
#ifdef __SANITIZE_ADDRESS__

extern "C" int __sanitizer_install_malloc_and_free_hooks(
    void (*allocated)(const volatile void*, std::size_t), void (*freed)(const volatile void*)
);
extern "C" std::size_t __sanitizer_get_allocated_size(const volatile void* memory);

namespace dist::harness {
namespace {
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t size) {
        if (counts()) {
            note_allocation(size);
        }
    },
    [](const volatile void* memory) {
        if (counts() && memory != nullptr) {
            note_freed_bytes(__sanitizer_get_allocated_size(memory));
        }
    }
);
}  // namespace
}  // namespace dist::harness

#else

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t n, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);

static void* noted(void* memory) {
    using namespace dist::harness;
    if (memory != nullptr && counts()) {
        note_allocation(malloc_usable_size(memory));
    }
    return memory;
}

static void note_lost(void* memory) {
    using namespace dist::harness;
    if (memory != nullptr && counts()) {
        note_freed_bytes(malloc_usable_size(memory));
    }
}

void* malloc(std::size_t size) noexcept {
    return noted(__libc_malloc(size));
}
void* calloc(std::size_t n, std::size_t size) noexcept {
    return noted(__libc_calloc(n, size));
}
void* realloc(void* memory, std::size_t size) noexcept {
    note_lost(memory);
    return noted(__libc_realloc(memory, size));
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
    return noted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    return noted(__libc_memalign(alignment, size));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
    *memory = noted(__libc_memalign(alignment, size));
    return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) noexcept {
    note_lost(memory);
    __libc_free(memory);
}

}  // extern "C"

#endif
// NOLINTEND(bugprone-reserved-identifier,cppcoreguidelines-no-malloc,readability-identifier-naming)

namespace dist::harness {
namespace {

// Counts as long as it lives, also if the body throws.
class Counting {
  public:
    Counting() : counted_before_(counting) { count_heap(); }
    ~Counting() { counting = counted_before_; }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;

  private:
    bool counted_before_;
};

}  // namespace

void count_heap() {
    count_this_thread();
    counting = true;
}

void count_stacks() {
    const long now = stack_bytes();
    note_peak(held_bytes += now - counted_stacks.exchange(now));
}

long heap_bytes() {
    count_stacks();
    return held_bytes;
}

long heap_peak_bytes() {
    count_stacks();
    return peak_bytes;
}

void forget_heap_peak() {
    peak_bytes = held_bytes.load();
}

Memory memory_of(const Communicator& /*comm*/, const std::function<void()>& body) {
    gate();
    const long held_before = heap_bytes();
    const long allocations_before = allocations;
    forget_heap_peak();
    {
        const Counting now;
        body();
    }
    gate();
    return {heap_peak_bytes() - held_before, allocations - allocations_before};
}

}  // namespace dist::harness
