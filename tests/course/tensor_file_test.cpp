// Files of tensors that are cut into parts.
#include "course/nn/tensor_file.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "tests/course/error_text.hpp"
#include "tests/harness/catch2.hpp"

using dist::nn::TensorFile;
using dist::nn::TensorPart;

namespace {

namespace fs = std::filesystem;

/// A file of its own, gone at the end.
struct File {
    fs::path path = fs::temp_directory_path() / ("tensor_file_test." + std::to_string(getpid()));

    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    File(File&&) = delete;
    File& operator=(File&&) = delete;
    ~File() { fs::remove(path); }

    TensorFile read_with(const std::string& bytes) const {
        std::ofstream(path, std::ios::binary) << bytes;
        return dist::nn::read_tensor_file(path);
    }
};

TensorFile example() {
    return {
        {{"step", 100}, {"save", -1}},
        {{"a \"name\"\n", 10, 3, at::arange(5, at::kFloat)},
         {"b", 3, 0, at::arange(3, at::kBFloat16)},
         {"none", 4, 4, at::zeros({0}, at::kLong)},
         {"c", 7, 0, at::arange(7, at::kLong)}}};
}

}  // namespace

TEST_CASE("a file has the parts and numbers that were written", "[nn]") {
    const File file;
    const TensorFile written = example();
    const TensorFile read = file.read_with(to_bytes(written));
    CHECK(read.numbers == written.numbers);
    REQUIRE(read.parts.size() == written.parts.size());
    for (std::size_t i = 0; i < read.parts.size(); ++i) {
        const TensorPart& got = read.parts[i];
        const TensorPart& expected = written.parts[i];
        CHECK(got.name == expected.name);
        CHECK(got.numel == expected.numel);
        CHECK(got.begin == expected.begin);
        CHECK(got.data.scalar_type() == expected.data.scalar_type());
        CHECK(got.data.equal(expected.data));
    }
}

TEST_CASE("a file that is cut off anywhere, or changed in any byte, is refused", "[nn]") {
    const File file;
    const std::string bytes = to_bytes(example());
    const std::string damaged = file.path.string() + ": is damaged or cut off";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        CHECK(error_text([&] { file.read_with(bytes.substr(0, i)); }) == damaged);
        std::string other = bytes;
        other[i] ^= 4;
        CHECK(error_text([&] { file.read_with(other); }) == damaged);
    }
}

TEST_CASE("a file that is not there is named, with the system's reason", "[nn]") {
    CHECK(error_text([] {
              dist::nn::read_tensor_file("no/such/file");
          }) == "no/such/file: cannot be read: No such file or directory");
}

TEST_CASE("a part that is none is named, and not written", "[nn]") {
    const auto refused = [](std::int64_t numel, std::int64_t begin, const at::Tensor& data) {
        const TensorFile file = {{}, {{"w", numel, begin, data}}};
        return error_text([&] { to_bytes(file); });
    };
    CHECK(refused(4, 0, at::zeros({4})) == "nothing was thrown");
    CHECK(refused(4, 0, {}) == "the part of w has no data");
    CHECK(refused(4, 1, at::zeros({4})) == "the part of w reaches beyond the tensor");
    CHECK(refused(4, -1, at::zeros({4})) == "the part of w reaches beyond the tensor");
    const std::string shape = "the part of w is not of one dimension, in one piece";
    CHECK(refused(4, 0, at::zeros({2, 2})) == shape);
    CHECK(refused(4, 0, at::zeros({4, 2}).select(1, 0)) == shape);
}
