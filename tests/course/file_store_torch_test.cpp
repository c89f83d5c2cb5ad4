// A file that a FileStore of the course and one of PyTorch share.
#include <chrono>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "tests/harness/catch2.hpp"

namespace {

using namespace std::chrono_literals;

std::vector<std::uint8_t> bytes(const std::string& text) {
    return {text.begin(), text.end()};
}

std::string text(const std::vector<std::uint8_t>& bytes) {
    return {bytes.begin(), bytes.end()};
}

struct File {
    std::string path =
        (std::filesystem::temp_directory_path() / ("store-" + std::to_string(getpid()))).string();
    ~File() { std::filesystem::remove(path); }
};

constexpr int kNobodyRemovesIt = -1;  // the number of PyTorch's workers, whose last one would

}  // namespace

TEST_CASE("PyTorch's FileStore and the course's read what the other one writes") {
    const File file;
    {
        dist::FileStore ours(file.path, "run", 500ms);
        c10d::FileStore theirs(file.path, kNobodyRemovesIt);
        theirs.setTimeout(500ms);
        const std::string zero("x\0y", 3);
        ours.set("zero", zero);
        ours.set("-key", "dash");
        ours.set("erased", "");
        CHECK(ours.erase("erased"));
        CHECK(ours.add("sum", -3) == -3);
        CHECK(text(theirs.get("zero")) == zero);
        CHECK(text(theirs.get("-key")) == "dash");
        CHECK_FALSE(theirs.check({"erased"}));
        CHECK(theirs.add("sum", 10) == 7);
        CHECK(theirs.getNumKeys() == ours.num_keys() + 1);  // it counts the first record
        theirs.set("theirs", bytes(zero));
        CHECK(text(theirs.compareSet("zero", bytes(zero), bytes("new"))) == "new");
        theirs.deleteKey("-key");
        CHECK(ours.get("theirs") == zero);
        CHECK(ours.get("zero") == "new");
        CHECK_FALSE(ours.check({"-key"}));
        CHECK(ours.add("sum", 0) == 7);
        CHECK(ours.num_keys() == 3);
    }
    dist::FileStore again(file.path, "run", 500ms);
    CHECK(again.num_keys() == 3);  // PyTorch's has counted in the file who is done
    CHECK(again.get("sum") == "7");
}

TEST_CASE("a file that PyTorch's FileStore has begun is no file of a run") {
    const File file;
    c10d::FileStore theirs(file.path, kNobodyRemovesIt);
    theirs.set("key", bytes("value"));
    CHECK_THROWS_AS(dist::FileStore(file.path, "run", 500ms), dist::Error);
    CHECK(text(theirs.get("key")) == "value");
}
