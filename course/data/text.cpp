#include "course/data/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace fs = std::filesystem;

namespace dist::data {
namespace {

std::vector<fs::path> lessons() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(SHARDLINGS_LESSONS)) {
        if (entry.path().extension() == ".md") {
            files.push_back(entry.path());
        }
    }
    std::ranges::sort(files);
    return files;
}

std::vector<std::uint8_t> bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in.is_open() || fs::is_directory(file)) {
        throw std::runtime_error(
            "--text " + file.string() + ": cannot be read (" +
            std::strerror(in.is_open() ? EISDIR : errno) + "); give a file of text"
        );
    }
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Windows::Windows(std::vector<std::uint8_t> bytes, std::size_t context)
    : bytes_(std::move(bytes)), context_(context) {}

std::size_t Windows::size() const {
    return bytes_.empty() ? 0 : (bytes_.size() - 1) / context_;
}

std::span<const std::uint8_t> Windows::window(std::size_t i) const {
    return std::span(bytes_).subspan(i * context_, context_ + 1);
}

void Windows::truncate(std::size_t n) {
    if (n < size()) {
        bytes_.resize(n * context_ + 1);
    }
}

Text load_text(
    const std::vector<fs::path>& files,
    std::size_t context,
    std::size_t train_size,
    std::size_t test_size
) {
    constexpr std::size_t kTested = 10;  // a tenth
    std::vector<std::uint8_t> train;
    std::vector<std::uint8_t> test;
    Text text;
    for (const fs::path& file : files.empty() ? lessons() : files) {
        const std::vector<std::uint8_t> bytes = bytes_of(file);
        const auto cut = bytes.end() - static_cast<std::ptrdiff_t>(bytes.size() / kTested);
        train.insert(train.end(), bytes.begin(), cut);
        test.insert(test.end(), cut, bytes.end());
        text.source += (text.source.empty() ? "" : ", ") + file.string();
    }
    if (files.empty()) {
        text.source = "the course's lessons";
    }
    text.train = Windows(std::move(train), context);
    text.test = Windows(std::move(test), context);
    if (text.train.size() == 0 || text.test.size() == 0) {
        throw std::runtime_error(
            text.source + ": " + std::to_string(text.train.bytes() + text.test.bytes()) +
            " bytes are too short for a context of " + std::to_string(context) +
            "; give a longer text, or a smaller --context"
        );
    }
    if (train_size != 0) {
        text.train.truncate(train_size);
    }
    if (test_size != 0) {
        text.test.truncate(test_size);
    }
    return text;
}

}  // namespace dist::data
