// The stand-in's device memory: see Note [Memory].

#include <algorithm>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <vector>

#include "tests/harness/gpu/gpu.hpp"
#include "tests/harness/gpu/stand_in/stream.hpp"

namespace dist::stand_in {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = 16;  // of the longest access of a thread, a float4

struct Piece {
    char* pages = nullptr;
    std::size_t pages_bytes = 0;  // without the one behind them
    std::size_t bytes = 0;
};
std::map<const char*, Piece> pieces;  // by the address that the program knows
std::size_t held_bytes = 0;
std::size_t peak_bytes = 0;

std::size_t round_up(std::size_t n, std::size_t unit) {
    return (n + unit - 1) / unit * unit;
}

void protect(int protection) {
    for (const auto& [address, piece] : pieces) {
        mprotect(piece.pages, piece.pages_bytes, protection);
    }
}

bool sides_are_right(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const bool to_device = is_device_memory(to, bytes);
    const bool from_device = is_device_memory(from, bytes);
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return to_device;
        case cudaMemcpyDeviceToHost:
            return from_device;
        case cudaMemcpyDeviceToDevice:
            return to_device && from_device;
        default:
            return true;
    }
}

}  // namespace

Unlocked::Unlocked() {
    protect(PROT_READ | PROT_WRITE);
}
Unlocked::~Unlocked() {
    protect(PROT_NONE);
}

bool is_device_memory(const void* address, std::size_t bytes) {
    const char* begin = static_cast<const char*>(address);
    auto behind = pieces.upper_bound(begin);
    if (bytes == 0 || behind == pieces.begin()) {
        return bytes == 0;
    }
    const auto& [start, piece] = *std::prev(behind);
    return begin + bytes <= start + piece.bytes;
}

}  // namespace dist::stand_in

using namespace dist::stand_in;

long dist::harness::device_memory_of(const std::function<void()>& body) {
    const std::size_t before = held_bytes;
    peak_bytes = held_bytes;
    body();
    return static_cast<long>(peak_bytes - before);
}

extern "C" {

cudaError_t cudaMalloc(void** address, size_t bytes) {
    Piece piece;
    piece.bytes = bytes;
    piece.pages_bytes = round_up(std::max<size_t>(bytes, 1), kPage);
    void* memory = mmap(
        nullptr, piece.pages_bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
        0
    );
    if (memory == MAP_FAILED) {
        return failed(cudaErrorMemoryAllocation);
    }
    piece.pages = static_cast<char*>(memory);
    std::memset(piece.pages, 0xff, piece.pages_bytes);  // NaN, as float: no right answer holds it
    mprotect(piece.pages, piece.pages_bytes + kPage, PROT_NONE);
    char* begin = piece.pages + piece.pages_bytes - round_up(bytes, kAlignment);
    pieces[begin] = piece;
    held_bytes += bytes;
    peak_bytes = std::max(peak_bytes, held_bytes);
    *address = begin;
    return cudaSuccess;
}

cudaError_t cudaFree(void* address) {
    if (address == nullptr) {
        return cudaSuccess;
    }
    if (!pieces.contains(static_cast<char*>(address))) {
        return failed(cudaErrorInvalidValue);
    }
    cudaDeviceSynchronize();  // so does CUDA's
    const auto found = pieces.find(static_cast<char*>(address));
    held_bytes -= found->second.bytes;
    munmap(found->second.pages, found->second.pages_bytes + kPage);
    pieces.erase(found);
    return cudaSuccess;
}

// From the host it returns when it has read the host's side. What it writes comes later, in the default stream.
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t code = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    const bool is_through = code == cudaSuccess && kind != cudaMemcpyHostToDevice;
    return is_through ? cudaStreamSynchronize(nullptr) : code;
}

cudaError_t cudaMemcpyAsync(
    void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream
) {
    if (!sides_are_right(to, from, bytes, kind)) {
        return failed(cudaErrorInvalidValue);
    }
    if (kind == cudaMemcpyHostToDevice && bytes > 0) {
        // the host's side may be changed at once
        const char* first = static_cast<const char*>(from);
        put(stream, [to, copy = std::vector<char>(first, first + bytes)] {
            std::memcpy(to, copy.data(), copy.size());
        });
    } else if (bytes > 0) {
        put(stream, [=] { std::memmove(to, from, bytes); });
    }
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes, cudaStream_t stream) {
    if (!is_device_memory(address, bytes)) {
        return failed(cudaErrorInvalidValue);
    }
    put(stream, [=] { std::memset(address, value, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemset(void* address, int value, size_t bytes) {
    return cudaMemsetAsync(address, value, bytes, nullptr);
}

}  // extern "C"
