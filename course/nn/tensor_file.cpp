#include "course/nn/tensor_file.hpp"

#include <ATen/ops/empty.h>
#include <array>
#include <bit>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "course/runtime/error.hpp"

namespace dist::nn {

namespace {

/// FNV-1a of all bytes so far.
class Checksum {
  public:
    using Bytes = std::array<char, sizeof(std::uint64_t)>;

    void add(std::string_view bytes) {
        for (const char byte : bytes) {
            sum_ = (sum_ ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
        }
    }
    [[nodiscard]] Bytes bytes() const { return std::bit_cast<Bytes>(sum_); }

  private:
    std::uint64_t sum_ = 0xCBF29CE484222325U;
};

void expect_part(const TensorPart& part) {
    const auto expect = [&part](bool condition, const char* otherwise) {
        expects(condition, ("the part of " + part.name + otherwise).c_str());
    };
    const at::Tensor& data = part.data;
    expect(data.defined(), " has no data");
    expect(data.dim() == 1 && data.is_contiguous(), " is not of one dimension, in one piece");
    expect(data.is_cpu(), " is not on the host");
    expect(
        part.begin >= 0 && part.begin + data.numel() <= part.numel, " reaches beyond the tensor"
    );
}

at::ScalarType dtype_named(const std::string& name) {
    for (int i = 0; i < static_cast<int>(at::ScalarType::NumOptions); ++i) {
        if (name == c10::toString(static_cast<at::ScalarType>(i))) {
            return static_cast<at::ScalarType>(i);
        }
    }
    throw std::invalid_argument("there is no dtype " + name);
}

/// The elements, as they lie in memory.
std::string_view bytes_of(const at::Tensor& data) {
    return {static_cast<const char*>(data.data_ptr()), data.nbytes()};
}

TensorFile read(std::ifstream& in, std::uint64_t size) {
    std::string line;
    std::getline(in, line);
    const auto head = nlohmann::json::parse(line);
    Checksum checksum;
    checksum.add(line + '\n');
    TensorFile file{.numbers = head.at("numbers"), .parts = {}};
    for (const nlohmann::json& entry : head.at("parts")) {
        const std::int64_t length = entry.at("length");
        // a damaged length asks for no more memory than the file has bytes
        expects(static_cast<std::uint64_t>(length) <= size, "a part is longer than the file");
        const at::Tensor data = at::empty({length}, dtype_named(entry.at("dtype")));
        in.read(static_cast<char*>(data.data_ptr()), static_cast<std::streamsize>(data.nbytes()));
        checksum.add(bytes_of(data));
        file.parts.push_back({entry.at("name"), entry.at("numel"), entry.at("begin"), data});
    }
    Checksum::Bytes written;
    in.read(written.data(), written.size());
    expects(written == checksum.bytes(), "it was written with another checksum");
    return file;
}

}  // namespace

std::string to_bytes(const TensorFile& file) {
    auto entries = nlohmann::json::array();
    for (const TensorPart& part : file.parts) {
        expect_part(part);
        entries.push_back(
            {{"name", part.name},
             {"dtype", c10::toString(part.data.scalar_type())},
             {"numel", part.numel},
             {"begin", part.begin},
             {"length", part.data.numel()}}
        );
    }
    std::string bytes = nlohmann::json{{"numbers", file.numbers}, {"parts", entries}}.dump() + '\n';
    for (const TensorPart& part : file.parts) {
        bytes += bytes_of(part.data);
    }
    Checksum checksum;
    checksum.add(bytes);
    const Checksum::Bytes last = checksum.bytes();
    return bytes.append(last.begin(), last.end());
}

TensorFile read_tensor_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        const std::string reason = std::generic_category().message(errno);
        throw std::runtime_error(path.string() + ": cannot be read: " + reason);
    }
    try {
        in.exceptions(std::ios::eofbit | std::ios::failbit | std::ios::badbit);
        return read(in, std::filesystem::file_size(path));
    } catch (const std::exception&) {  // LibTorch's own text is a page of stack
        throw std::runtime_error(path.string() + ": is damaged or cut off");
    }
}

}  // namespace dist::nn
