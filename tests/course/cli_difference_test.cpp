// Programs that are written as differences: they change what they say, or nothing.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "course/build/difference.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// A checkout with a base, and differences against it.
class Checkout {
  public:
    Checkout() {
        context.root = fs::temp_directory_path() / ("difference-" + std::to_string(getpid()));
        fs::create_directories(context.root);
        write("base.cpp", "one\nsame\ntwo\nsame\nthree\n");
    }
    ~Checkout() { fs::remove_all(context.root); }
    Checkout(const Checkout&) = delete;
    Checkout& operator=(const Checkout&) = delete;
    Checkout(Checkout&&) = delete;
    Checkout& operator=(Checkout&&) = delete;

    fs::path write(const std::string& name, const std::string& text) const {
        std::ofstream(context.root / name) << text;
        return context.root / name;
    }

    /// What a hunk makes of the base; or the error.
    [[nodiscard]] std::string made(const std::string& hunk) const {
        const fs::path file = write("wrong.diff", "--- base.cpp\n+++ wrong.cpp\n" + hunk);
        try {
            return read_text(make_source(context, file));
        } catch (const UsageError& error) {
            return error.what();
        }
    }

    Context context;
};

TEST_CASE("a difference changes the lines that it says, where they are", "[difference]") {
    const Checkout checkout;
    CHECK(checkout.made("@@ -3,1 +3,1 @@\n-two\n+2\n") == "one\nsame\n2\nsame\nthree\n");
    CHECK(checkout.made("@@ -4,1 +4,1 @@\n-same\n+2\n") == "one\nsame\ntwo\n2\nthree\n");
    SECTION("also where they have moved, if they stand there once") {
        CHECK(checkout.made("@@ -1,1 +1,1 @@\n-two\n+2\n") == "one\nsame\n2\nsame\nthree\n");
        CHECK(
            checkout.made("@@ -1,2 +1,2 @@\n-same\n-three\n+2\n+3\n") == "one\nsame\ntwo\n2\n3\n"
        );
    }
    SECTION("lines that are not there are refused") {
        CHECK(has(checkout.made("@@ -3,1 +3,1 @@\n-four\n+2\n"), "no longer applies to base.cpp"));
    }
    SECTION("lines that stand twice, and not where it says, are refused") {
        CHECK(has(
            checkout.made("@@ -3,1 +3,1 @@\n-same\n+2\n"),
            "what it changes stands 2 times in base.cpp, and not at line 3: make the change anew"
        ));
        CHECK(has(checkout.made("@@ -5,1 +5,2 @@\n same\n+2\n"), "stands 2 times"));
    }
}

}  // namespace
}  // namespace dist::cli
