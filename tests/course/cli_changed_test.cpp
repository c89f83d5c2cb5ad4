// Answers in a list: each is the base with other lines in the place of some, or is refused by name.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "course/build/build.hpp"
#include "course/build/changed.hpp"
#include "course/manifest/cases.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

const fs::path kList = "tests/mutants/01_first/one.toml";

/// A checkout with a solution, and a list of answers.
class Checkout {
  public:
    Checkout() {
        context.root = fs::temp_directory_path() / ("changed-" + std::to_string(getpid()));
        write("solutions/01_first/one.cpp", "one\nsame\ntwo\nsame\nthree\n");
    }
    ~Checkout() { fs::remove_all(context.root); }
    Checkout(const Checkout&) = delete;
    Checkout& operator=(const Checkout&) = delete;
    Checkout(Checkout&&) = delete;
    Checkout& operator=(Checkout&&) = delete;

    void write(const fs::path& name, const std::string& text) const {
        fs::create_directories((context.root / name).parent_path());
        std::ofstream(context.root / name) << text;
    }

    /// What the changes make of the solution; or the error.
    [[nodiscard]] std::string made(const std::string& changes, const std::string& name = "a")
        const {
        write(kList, "[" + name + "]\nwrong = 'w'\n" + changes);
        try {
            return read_text(make_source(context, context.root / (kList.string() + ":a")));
        } catch (const CommandError& error) {
            return error.what();
        }
    }

    Context context;
};

TEST_CASE("an answer in a list has other lines in the place of some", "[changed]") {
    const Checkout checkout;
    CHECK(checkout.made("from = 'two'\nto = '2'") == "one\nsame\n2\nsame\nthree\n");
    CHECK(checkout.made("from = 'two'") == "one\nsame\nsame\nthree\n");
    CHECK(checkout.made("from = 'two'\nto = ''") == "one\nsame\n\nsame\nthree\n");
    CHECK(checkout.made("after = 'one'\nadd = '2'") == "one\n2\nsame\ntwo\nsame\nthree\n");
    CHECK(
        checkout.made("from = '''\nsame\nthree'''\nto = '3'\n[[a.also]]\nfrom = 'one'") ==
        "same\ntwo\n3\n"
    );
    SECTION("a list may have a base of its own, and an answer another one") {
        checkout.write("base.cpp", "zero\ntwo\n");
        checkout.write(kList, "base = 'base.cpp'\n[a]\nwrong = 'w'\nfrom = 'two'\nto = '2'\n");
        const fs::path answer = checkout.context.root / (kList.string() + ":a");
        CHECK(read_text(make_source(checkout.context, answer)) == "zero\n2\n");
        checkout.write(
            kList, read_text(checkout.context.root / kList) +
                       "base = 'solutions/01_first/one.cpp'\nrefused = { or = ['hang'] }\n"
        );
        CHECK(read_text(make_source(checkout.context, answer)) == "one\nsame\n2\nsame\nthree\n");
        const Case read = read_list(checkout.context, checkout.context.root / kList).front();
        CHECK((read.expects(State::fail) && read.expects(State::hang)));
        CHECK_FALSE(read.expects(State::crash));
    }
    SECTION("a line is a whole one, and occurs once") {
        const std::string at =
            "tests/mutants/01_first/one.toml:1: a no longer applies: "
            "solutions/01_first/one.cpp ";
        CHECK(
            checkout.made("from = 'tw'") ==
            at + "does not have the lines that it changes: write the change anew"
        );
        CHECK(
            checkout.made("from = 'same'") ==
            at + "has the lines that it changes more than once: name a line more, before or "
                 "after them"
        );
        CHECK(has(
            checkout.made("from = 'two'\n[[a.also]]\nfrom = '''\ntwo\nsame'''"),
            "one.toml:a: two of its changes change the same lines of solutions/01_first/one.cpp"
        ));
    }
    SECTION("what the list does not say is refused") {
        CHECK(has(checkout.made("base = 'none.cpp'\nfrom = 'two'"), "changes none.cpp, which is"));
        CHECK(has(checkout.made("to = '2'"), "one.toml:1: [[a]] has one of 'from' and 'after'"));
        CHECK(has(checkout.made("from = 'two'\nsays = 'x'"), ":4: [[a]] has a field 'says'"));
        CHECK(
            has(checkout.made("from = 'two'\nrefused = { state = 'odd' }"), "a state that does not")
        );
        CHECK(has(checkout.made("from = 'two"), "tests/mutants/01_first/one.toml:3: "));
        CHECK(has(checkout.made("from = 'two'", "ab"), "has no [a]. Did you mean 'ab'?"));
    }
}

TEST_CASE("cases are those of the list and of the folder beside it, by name", "[changed]") {
    const Checkout checkout;
    checkout.write(
        kList,
        "[c]\nwrong = 'w'\nrefused = { state = 'hang', in = 'sums', says = ['x', 'y'] }\n"
        "from = 'two'\n[a]\nright = 'r'\nfrom = 'two'\n"
    );
    checkout.write(
        "tests/mutants/01_first/one/b.cpp", "// It\n// hangs.\n// state: hang in sums\n// says: x\n"
    );
    const std::vector<Case> cases = read_cases(checkout.context, "tests/mutants/01_first/one");
    REQUIRE(cases.size() == 3);
    CHECK(cases[0].file == kList.string() + ":a");
    CHECK(cases[0].state == State::pass);
    CHECK(cases[0].sentence == "r");
    CHECK(cases[1].file == "tests/mutants/01_first/one/b.cpp");
    CHECK(cases[1].sentence == "It hangs.");
    CHECK(cases[1].test == "sums");
    CHECK(cases[2].name == "c");
    CHECK(cases[2].state == State::hang);
    CHECK(cases[2].test == "sums");
    CHECK(cases[2].says == std::vector<std::string>{"x", "y"});
    CHECK(cases[2].base == "solutions/01_first/one.cpp");
}

TEST_CASE("the source of an answer is written again only where it changes", "[changed]") {
    const Checkout checkout;
    const std::string other = "[b]\nwrong = 'w'\nfrom = 'one'\n";
    static_cast<void>(checkout.made("from = 'two'\nto = '2'\n"));
    const fs::path source =
        source_of(checkout.context, checkout.context.root / (kList.string() + ":a"));
    const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(source, old);
    static_cast<void>(checkout.made("from = 'two'\nto = '2'\n" + other));
    CHECK(fs::last_write_time(source) == old);
    static_cast<void>(checkout.made("from = 'two'\nto = '3'\n" + other));
    CHECK(fs::last_write_time(source) > old);
}

TEST_CASE("what an answer calls is built for it: by the headers that it includes") {
    const Checkout checkout;
    checkout.write("exercises/01_first/one.hpp", "");
    checkout.write("exercises/02_second/two.hpp", "");
    checkout.write(
        "two.cpp",
        "#include \"exercises/02_second/two.hpp\"\n"
        "#include \"exercises/01_first/one.hpp\"\n"
        "#include \"exercises/01_first/gone.hpp\"\n"
        "#include \"course/one.hpp\"\n#include <one.hpp>\n"
    );
    Program program;
    program.name = "two";
    const std::string text = text_of(checkout.context, checkout.context.root / "two.cpp");
    CHECK(
        references_named(checkout.context, program, text) ==
        std::vector<std::string>{"one_references"}
    );

    checkout.write("other.cpp", "#include \"exercises/02_second/two.hpp\"\nwrong\n");
    checkout.write(kList, "base = 'other.cpp'\n[change]\nwrong = 'w'\nfrom = 'wrong'\nto = 'x'\n");
    program.name = "one";
    const std::string list =
        text_of(checkout.context, (checkout.context.root / kList).string() + ":change");
    CHECK(
        references_named(checkout.context, program, list) ==
        std::vector<std::string>{"two_references"}
    );
}

}  // namespace
}  // namespace dist::cli
