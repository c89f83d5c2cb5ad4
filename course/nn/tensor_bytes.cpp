#include "course/nn/tensor_bytes.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <algorithm>
#include <c10/core/ScalarType.h>
#include <cstdint>
#include <cstring>
#include <string>

#include "course/runtime/error.hpp"

namespace dist::nn {

namespace {

// First come words: kTensorBytes, how many tensors there are, and of each one its dtype, how many
// dimensions it has, and their sizes. Behind them lie the elements, each tensor's from a multiple
// of kAlignment on.
using Word = std::int64_t;
constexpr Word kTensorBytes = 0x7365'7479'622d'7401;
constexpr Word kUndefined = -1;  // as a dtype
constexpr std::size_t kAlignment = 16;

std::size_t aligned(std::size_t position) {
    return (position + kAlignment - 1) / kAlignment * kAlignment;
}

bool can_travel(at::ScalarType dtype) {
    return c10::isIntegralType(dtype, /*includeBool=*/true) || c10::isFloatingType(dtype) ||
           c10::isComplexType(dtype);
}

[[noreturn]] void refuse_bytes(const std::string& why) {
    throw Error("tensors_of: these bytes are no tensors, or damaged: " + why);
}

/// Reads bytes from the front.
class BytesReader {
  public:
    explicit BytesReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    Word word() {
        Word value = 0;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }

    /// A number of things of which each takes at least `least` bytes.
    std::size_t count(std::size_t least) {
        const Word value = word();
        if (value < 0 || static_cast<std::size_t>(value) > left() / least) {
            refuse_bytes("they are too short for what they say");
        }
        return static_cast<std::size_t>(value);
    }

    std::span<const std::byte> take(std::size_t n) {
        if (n > left()) {
            refuse_bytes("they end too early");
        }
        position_ += n;
        return bytes_.subspan(position_ - n, n);
    }

    void align() { take(aligned(position_) - position_); }

    [[nodiscard]] std::size_t left() const { return bytes_.size() - position_; }

  private:
    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
};

/// An empty tensor of the dtype and shape that come next.
at::Tensor next_tensor(BytesReader& reader) {
    const Word code = reader.word();
    if (code == kUndefined) {
        return {};
    }
    const bool is_dtype = 0 <= code && code < static_cast<Word>(at::ScalarType::NumOptions);
    if (!is_dtype || !can_travel(static_cast<at::ScalarType>(code))) {
        refuse_bytes("there is no dtype " + std::to_string(code));
    }
    const auto dtype = static_cast<at::ScalarType>(code);
    std::vector<std::int64_t> sizes(reader.count(sizeof(Word)));
    std::ranges::generate(sizes, [&] { return reader.word(); });
    Word most = INT64_MAX / 64;  // elements, where sizes of 0 count as 1, as for strides
    for (const Word size : sizes) {
        if (size < 0 || size > most) {
            refuse_bytes("there is no size " + std::to_string(size));
        }
        most /= std::max<Word>(size, 1);
    }
    Word numel = 1;
    std::ranges::for_each(sizes, [&](Word size) { numel *= size; });
    // asks for no more memory than there are bytes
    if (static_cast<std::size_t>(numel) > reader.left() / c10::elementSize(dtype)) {
        refuse_bytes("they are too short for what they say");
    }
    return at::empty(sizes, dtype);
}

}  // namespace

std::vector<std::byte> bytes_of(std::span<const at::Tensor> tensors) {
    std::vector<Word> words = {kTensorBytes, static_cast<Word>(tensors.size())};
    for (const at::Tensor& tensor : tensors) {
        if (!tensor.defined()) {
            words.push_back(kUndefined);
            continue;
        }
        expects(
            tensor.layout() == at::kStrided && can_travel(tensor.scalar_type()),
            "bytes_of: a tensor must be dense, and neither sparse nor quantised"
        );
        words.push_back(static_cast<Word>(tensor.scalar_type()));
        words.push_back(tensor.dim());
        words.insert(words.end(), tensor.sizes().begin(), tensor.sizes().end());
    }
    std::size_t size = words.size() * sizeof(Word);
    for (const at::Tensor& tensor : tensors) {
        size = tensor.defined() ? aligned(size) + tensor.nbytes() : size;
    }
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), words.data(), words.size() * sizeof(Word));
    std::size_t position = words.size() * sizeof(Word);
    for (const at::Tensor& tensor : tensors) {
        if (tensor.defined()) {
            position = aligned(position);
            if (tensor.numel() > 0) {  // also a copy of what has strides
                at::from_blob(&bytes[position], tensor.sizes(), tensor.scalar_type())
                    .copy_(tensor.detach());
            }
            position += tensor.nbytes();
        }
    }
    return bytes;
}

std::vector<at::Tensor> tensors_of(std::span<const std::byte> bytes) {
    BytesReader reader(bytes);
    if (reader.word() != kTensorBytes) {
        refuse_bytes("they begin with something else");
    }
    std::vector<at::Tensor> tensors(reader.count(sizeof(Word)));
    std::ranges::generate(tensors, [&] { return next_tensor(reader); });
    for (const at::Tensor& tensor : tensors) {
        if (tensor.defined()) {
            reader.align();
            const auto elements = reader.take(tensor.nbytes());
            if (!elements.empty()) {
                std::memcpy(tensor.data_ptr(), elements.data(), elements.size());
            }
        }
    }
    if (reader.left() > 0) {
        refuse_bytes("they are too long");
    }
    return tensors;
}

std::vector<std::byte> bytes_of(const NumbersAndTensors& message) {
    std::vector<at::Tensor> all = {at::tensor(message.numbers)};
    all.insert(all.end(), message.tensors.begin(), message.tensors.end());
    return bytes_of(all);
}

NumbersAndTensors numbers_and_tensors_of(std::span<const std::byte> bytes) {
    const std::vector<at::Tensor> all = tensors_of(bytes);
    if (all.empty() || !all[0].defined() || all[0].scalar_type() != at::kLong) {
        refuse_bytes("no numbers come first");
    }
    const auto* numbers = all[0].data_ptr<std::int64_t>();
    return {{numbers, numbers + all[0].numel()}, {all.begin() + 1, all.end()}};
}

}  // namespace dist::nn
