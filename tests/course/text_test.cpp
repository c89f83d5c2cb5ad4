// Text in windows.
#include "course/data/text.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "tests/harness/catch2.hpp"

namespace fs = std::filesystem;
using namespace dist::data;

namespace {

struct File {
    explicit File(const std::string& text, const std::string& name = "a") {
        path = fs::temp_directory_path() / ("text_test." + std::to_string(getpid()) + name);
        std::ofstream(path, std::ios::binary) << text;
    }
    ~File() { fs::remove(path); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    File(File&&) = delete;
    File& operator=(File&&) = delete;

    fs::path path;
};

std::string text_of(std::span<const std::uint8_t> bytes) {
    return {bytes.begin(), bytes.end()};
}

std::string refusal(const std::vector<fs::path>& files, std::size_t context) {
    try {
        load_text(files, context, 0, 0);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("windows lie side by side, and each has one byte of the next") {
    const File file("abcdefghijklmnopqrstuvwxyz0123");  // 27 to train on, 3 to test
    const Text text = load_text({file.path}, 2, 0, 0);
    REQUIRE(text.train.size() == 13);
    CHECK(text_of(text.train.window(0)) == "abc");
    CHECK(text_of(text.train.window(1)) == "cde");
    CHECK(text_of(text.train.window(12)) == "yz0");
    REQUIRE(text.test.size() == 1);
    CHECK(text_of(text.test.window(0)) == "123");
}

TEST_CASE("the last tenth of each file is for the test, byte for byte") {
    const File one(std::string(99, 'a') + "\xff");
    const File two(std::string(10, 'b') + std::string(10, '\0'), "b");
    const Text text = load_text({one.path, two.path}, 1, 0, 0);
    CHECK(text.train.bytes() == 90 + 18);
    CHECK(text.test.bytes() == 10 + 2);
    CHECK(text_of(text.test.window(8)) == "a\xff");
    CHECK(text_of(text.test.window(10)) == std::string(2, '\0'));
    const Text fewer = load_text({one.path, two.path}, 1, 5, 3);
    CHECK(fewer.train.size() == 5);
    CHECK(fewer.test.size() == 3);
}

TEST_CASE("without files the lessons are read") {
    const Text text = load_text({}, 64, 0, 0);
    CHECK(text.source == "the course's lessons");
    CHECK(text.train.bytes() > 100'000);
}

TEST_CASE("a text that cannot be used is refused with what to do") {
    const File file("too short");
    CHECK(
        refusal({file.path}, 4) ==
        file.path.string() +
            ": 9 bytes are too short for a context of 4; give a longer text, or a smaller --context"
    );
    CHECK(
        refusal({"/nowhere"}, 4) ==
        "--text /nowhere: cannot be read (No such file or directory); give a file of text"
    );
    CHECK(refusal({fs::temp_directory_path()}, 4).find("(Is a directory)") != std::string::npos);
}
