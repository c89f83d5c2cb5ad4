// A zoo of tensors: of every dtype, in every layout, with every number that is not an ordinary one. For exercises
// that take "any tensor".
//
//     for (const Resident& resident : zoo({at::kHalf, at::kBFloat16, at::kDouble}, comm.rank())) {
//         ...
//         CHECK(identical(resident.tensor, expected));
//     }
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

/// How the elements of a tensor lie in memory.
enum class Layout {
    contiguous,
    transposed,  // its first dimension is the quickest
    with_gaps,   // every second element of a wider tensor
    expanded,    // all rows are the same memory: it can be read, and not written to
};
inline constexpr Layout kLayouts[] = {
    Layout::contiguous, Layout::transposed, Layout::with_gaps, Layout::expanded};

inline std::string name_of(Layout layout) {
    return layout == Layout::contiguous   ? "contiguous"
           : layout == Layout::transposed ? "transposed"
           : layout == Layout::with_gaps  ? "with gaps"
                                          : "expanded";
}

/// A tensor like `values` in another layout, in memory of its own. An expanded one repeats the first row.
/// Gaps hold 100.
inline at::Tensor laid_out(const at::Tensor& values, Layout layout) {
    if (layout == Layout::transposed && values.dim() >= 2) {
        return values.transpose(0, -1).clone(at::MemoryFormat::Contiguous).transpose(0, -1);
    }
    if (layout == Layout::with_gaps) {
        std::vector<std::int64_t> wider = values.sizes().vec();
        wider.push_back(2);
        return at::empty(wider, values.options()).fill_(100).select(-1, 1).copy_(values);
    }
    if (layout == Layout::expanded && values.dim() >= 1 && values.size(0) > 0) {
        return values.narrow(0, 0, 1).clone(at::MemoryFormat::Contiguous).expand(values.sizes());
    }
    return values.clone(at::MemoryFormat::Contiguous);
}

/// The bytes of its elements, in their order, wherever they lie; none where it is undefined.
inline std::vector<std::uint8_t> bits(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.numel() == 0) {
        return {};
    }
    const at::Tensor flat = tensor.detach().contiguous();
    const auto* const begin = static_cast<const std::uint8_t*>(flat.data_ptr());
    return {begin, begin + flat.nbytes()};
}

/// Are they the same bits? NaN, and which NaN, and the sign of a zero count. A suspicion is a tensor that a known
/// mistake would leave.
inline Comparison identical(
    const at::Tensor& got,
    const at::Tensor& expected,
    const std::vector<std::pair<at::Tensor, std::string>>& suspicions = {}
) {
    if (got.defined() != expected.defined()) {
        return {false, got.defined() ? "it should be undefined" : "it is undefined"};
    }
    if (!got.defined()) {
        return {};
    }
    if (got.sizes() != expected.sizes() || got.scalar_type() != expected.scalar_type()) {
        return {false, "it has another shape, or another dtype"};
    }
    const std::vector<std::uint8_t> have = bits(got);
    const std::vector<std::uint8_t> want = bits(expected);
    if (have == want) {
        return {};
    }
    const auto first =
        static_cast<std::size_t>(std::ranges::mismatch(have, want).in1 - have.begin());
    const std::size_t size = got.element_size();
    const auto hex = [&](const std::vector<std::uint8_t>& bytes, std::size_t element) {
        std::string text = "0x";
        for (std::size_t i = size; i-- > 0;) {  // the last byte in memory is the highest
            const std::uint8_t byte = bytes[element * size + i];
            text += "0123456789abcdef"[byte >> 4U];
            text += "0123456789abcdef"[byte & 15U];
        }
        return text;
    };
    const std::size_t element = first / size;
    std::string text = "element " + std::to_string(element) + ": expected the bits " +
                       hex(want, element) + ", got " + hex(have, element);
    for (const auto& [tensor, sentence] : suspicions) {
        if (bits(tensor) == have) {
            text += ": " + sentence;
            break;
        }
    }
    return {false, text};
}

/// The bytes of its memory that belong to none of its elements: the gaps.
inline std::vector<std::uint8_t> around(const at::Tensor& tensor) {
    const auto room = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.element_size());
    at::Tensor memory = at::empty({0}, tensor.options().requires_grad(false));
    memory.set_(tensor.storage(), 0, {room}, {1});
    memory = memory.clone();
    at::Tensor elements =
        memory.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    for (std::int64_t d = 0; d < elements.dim(); ++d) {
        if (elements.stride(d) == 0 && elements.size(d) > 1) {
            elements = elements.narrow(d, 0, 1);  // an expanded one is written to once
        }
    }
    elements.zero_();
    return bits(memory);
}

/// Whole numbers of input(), as this dtype has them: not negative where it knows no sign.
inline at::Tensor numbers(
    at::IntArrayRef shape, at::ScalarType dtype, int rank, std::uint64_t salt
) {
    const at::Tensor values = filled(shape, rank, salt);
    const bool is_signed = dtype != at::kByte && dtype != at::kBool;
    return (is_signed ? values : dtype == at::kBool ? values.gt(0) : values.abs()).to(dtype);
}

/// A floating dtype's numbers that are not ordinary ones: both zeros, infinities, NaNs of both signs with a
/// payload that tells `rank`, one that signals, the smallest and the largest numbers.
inline at::Tensor extraordinary(at::ScalarType dtype, int rank) {
    const std::size_t bytes = c10::elementSize(dtype);
    const unsigned mantissa = dtype == at::kDouble     ? 52
                              : dtype == at::kFloat    ? 23
                              : dtype == at::kBFloat16 ? 7
                                                       : 10;
    const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
    const std::uint64_t infinity = sign - (std::uint64_t{1} << mantissa);
    const std::uint64_t quiet = std::uint64_t{1} << (mantissa - 1);
    const auto payload = static_cast<std::uint64_t>(rank + 1);
    const std::uint64_t all[] = {
        0,
        sign,
        infinity,
        sign | infinity,
        infinity | quiet | payload,
        sign | infinity | quiet | payload,
        infinity | payload,
        1,
        sign | 1,
        infinity - 1};
    at::Tensor tensor = at::empty({std::ssize(all)}, dtype);
    auto* to = static_cast<std::uint8_t*>(tensor.data_ptr());
    for (const std::uint64_t number : all) {
        std::memcpy(to, &number, bytes);  // the lowest bytes come first
        to += bytes;
    }
    return tensor;
}

/// A tensor of the zoo, and what to call it in a message: "Half (3, 4), transposed".
struct Resident {
    std::string name;
    at::Tensor tensor;
};

/// Whether a tensor lies the same way on all ranks, or each rank has a way of its own.
enum class Strides { alike, differ };

/// Every dtype in every layout, a number, an odd row, no element at all, and the numbers that are not ordinary
/// ones. Ranks have the same shapes and dtypes, and other numbers: zoo(dtypes, 1) is what rank 1 has, to be held
/// against. `layouts` can leave out what an exercise does not take.
inline std::vector<Resident> zoo(
    const std::vector<at::ScalarType>& dtypes,
    int rank,
    std::uint64_t salt = 0,
    Strides strides = Strides::alike,
    const std::vector<Layout>& layouts = {std::begin(kLayouts), std::end(kLayouts)}
) {
    std::vector<Resident> all;
    const std::size_t shift = strides == Strides::differ ? static_cast<std::size_t>(rank) : 0;
    const auto add = [&](const std::string& name, const at::Tensor& values, Layout layout) {
        all.push_back({name + ", " + name_of(layout), laid_out(values, layout)});
    };
    for (const at::ScalarType dtype : dtypes) {
        const std::string name = c10::toString(dtype);
        const auto next = [&] { return salt + 100 * all.size(); };
        for (std::size_t i = 0; i < layouts.size(); ++i) {
            const Layout layout = layouts[(i + shift) % layouts.size()];
            add(name + " (3, 4)", numbers({3, 4}, dtype, rank, next()), layout);
        }
        add(name + " (7)", numbers({7}, dtype, rank, next()), Layout::with_gaps);
        add(name + " ()", numbers({}, dtype, rank, next()), Layout::contiguous);
        add(name + " (2, 0)", numbers({2, 0}, dtype, rank, next()), Layout::contiguous);
        if (at::isFloatingType(dtype)) {
            add(name + ", -0, infinities and NaNs", extraordinary(dtype, rank), Layout::contiguous);
        }
    }
    return all;
}

inline std::vector<at::Tensor> tensors_of(const std::vector<Resident>& residents) {
    std::vector<at::Tensor> tensors;
    for (const Resident& resident : residents) {
        tensors.push_back(resident.tensor);
    }
    return tensors;
}

/// Remembers all of these tensors, to the bit, with their gaps, their place, their flags and their gradients. What
/// comes back says later which of them is no longer so: the last parameter of refuses().
inline std::function<Comparison()> as_now(const std::vector<at::Tensor>& tensors) {
    struct Seen {
        at::Tensor tensor;  // the same one
        const void* place = nullptr;
        std::vector<std::uint8_t> bits, gaps;
        bool trained = false;
        at::Tensor gradient;
        std::vector<std::uint8_t> gradient_bits;
    };
    const auto look = [](const at::Tensor& tensor) -> Seen {
        if (!tensor.defined()) {
            return {};
        }
        const at::Tensor gradient = tensor.is_leaf() ? tensor.grad() : at::Tensor();
        return {tensor,   tensor.data_ptr(), bits(tensor), around(tensor), tensor.requires_grad(),
                gradient, bits(gradient)};
    };
    std::vector<Seen> before;
    for (const at::Tensor& tensor : tensors) {
        before.push_back(look(tensor));
    }
    return [before, look]() -> Comparison {
        for (std::size_t i = 0; i < before.size(); ++i) {
            const Seen& then = before[i];
            const Seen now = look(then.tensor);
            const char* const changed =
                now.place != then.place                   ? "lies somewhere else"
                : now.bits != then.bits                   ? "holds other numbers"
                : now.gaps != then.gaps                   ? "has other numbers around it"
                : now.trained != then.trained             ? "has another requires_grad"
                : !now.gradient.is_same(then.gradient)    ? "has another gradient tensor"
                : now.gradient_bits != then.gradient_bits ? "has another gradient"
                                                          : nullptr;
            if (changed != nullptr) {
                return {false, "tensor " + std::to_string(i) + " " + changed + " now"};
            }
        }
        return {};
    };
}

}  // namespace dist::harness
