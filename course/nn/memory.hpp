// What tensors hold: bytes, counted where LibTorch asks for them.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

namespace dist::nn {

/// What memory is held for.
enum class MemoryKind { other, parameters, gradients, optimizer, activations };
inline constexpr std::size_t kMemoryKinds = 5;

/// "parameters"
const char* name(MemoryKind kind);

/// Bytes of each kind.
struct MemoryBytes {
    std::array<std::size_t, kMemoryKinds> of_kind{};

    [[nodiscard]] std::size_t of(MemoryKind kind) const {
        return of_kind[static_cast<std::size_t>(kind)];
    }
    [[nodiscard]] std::size_t total() const;
    bool operator==(const MemoryBytes&) const = default;
};

/// While it lives, tensors on the host that this thread makes count as `kind`; for as long as they live,
/// whoever drops them. A scope within it takes over. Costs nothing where nobody counts.
class MemoryScope {
  public:
    explicit MemoryScope(MemoryKind kind);
    ~MemoryScope();
    MemoryScope(const MemoryScope&) = delete;
    MemoryScope& operator=(const MemoryScope&) = delete;
    MemoryScope(MemoryScope&&) = delete;
    MemoryScope& operator=(MemoryScope&&) = delete;

  private:
    MemoryKind outer_;
};

/// Counts tensors on the host, of all threads, that are made from here on: LibTorch's allocator is replaced
/// by one that asks it for the memory, and remembers how much. Stays for the rest of the process. Bytes are
/// those that were asked for: a storage of n floats is 4n.
void count_memory();

/// What is held now.
MemoryBytes held_memory();

/// What was held at the moment when the total was highest, since the last forget_peak_memory().
MemoryBytes peak_memory();

/// The peak is what is held now.
void forget_peak_memory();

/// From here on `told` is called whenever tensors come or go, with what is held then: by one thread at a time,
/// which may be any. It makes no tensor. With an empty function nobody is told any more.
void on_memory_change(std::function<void(const MemoryBytes& held)> told);

}  // namespace dist::nn
