#include "course/manifest/cases.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "course/manifest/fields.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string text) {
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(" \r") + 1);
    return text;
}

Change read_change(const Fields& fields) {
    if (fields.has("after") == fields.has("from")) {
        fields.refuse("has one of 'from' and 'after'");
    }
    if (fields.has("from")) {
        return {
            fields.text("from"), fields.has("to") ? std::optional(fields.text("to")) : std::nullopt,
            fields.line()};
    }
    const std::string after = fields.text("after");
    return {after, after + "\n" + fields.text("add"), fields.line()};
}

/// tests/mutants/CHAPTER/NAME.toml: solutions/CHAPTER/NAME.cpp
fs::path solution_for(const Context& context, const fs::path& list) {
    fs::path solution = "solutions" / list.parent_path().filename() / list.stem();
    const bool for_gpu = fs::exists(context.root / fs::path(solution).replace_extension(".cu"));
    return solution.replace_extension(for_gpu ? ".cu" : ".cpp");
}

State read_state(const Fields& fields, const std::string& name) {
    const std::optional<State> state = state_of(name);
    if (!state) {
        fields.refuse("has a state that does not exist");
    }
    return *state;
}

Case read_change_of(const fs::path& base, const Fields& fields) {
    fields.only({"wrong", "right", "refused", "base", "from", "to", "after", "add", "also"});
    Case one;
    const bool right = fields.has("right");
    one.state = right ? State::pass : State::fail;
    one.sentence = fields.text(right ? "right" : "wrong");
    if (const std::optional<Fields> refused = fields.table("refused")) {
        refused->only({"state", "or", "in", "says"});
        one.state =
            refused->has("state") ? read_state(*refused, refused->text("state")) : one.state;
        if (refused->has("or")) {
            for (const std::string& other : refused->texts("or")) {
                one.other_states.push_back(read_state(*refused, other));
            }
        }
        one.test = refused->has("in") ? refused->text("in") : "";
        one.says = refused->has("says") ? refused->texts("says") : one.says;
    }
    one.base = fields.has("base") ? fs::path(fields.text("base")) : base;
    one.changes = {read_change(fields)};
    for (const Fields& also : fields.tables("also")) {
        also.only({"from", "to", "after", "add"});
        one.changes.push_back(read_change(also));
    }
    return one;
}

Case read_whole(const Context& context, const fs::path& file, const State* otherwise) {
    Case one;
    one.file = file.lexically_relative(context.root);
    one.name = file.stem();
    std::optional<State> state;
    std::istringstream lines(read_text(file));
    for (std::string line; std::getline(lines, line) && line.starts_with("//");) {
        line = trimmed(line.substr(2));
        if (line.starts_with("state:")) {
            const std::size_t in = line.find(" in ");
            state = state_of(trimmed(line.substr(6, in - 6)));
            one.test = in == std::string::npos ? "" : trimmed(line.substr(in + 4));
        } else if (line.starts_with("says:")) {
            one.says.push_back(trimmed(line.substr(5)));
        } else {
            one.sentence += (one.sentence.empty() ? "" : " ") + line;
        }
    }
    if (!state && otherwise == nullptr) {
        throw CommandError(
            exit_status::kFailed,
            fmt::format("{} does not say its state: '// state: fail'", one.file.string())
        );
    }
    one.state = state ? *state : *otherwise;
    return one;
}

}  // namespace

std::optional<InList> in_list(const fs::path& answer) {
    const std::string text = answer.string();
    const std::string ending = ".toml";
    const std::size_t end = text.rfind(ending + ":");
    if (end == std::string::npos) {
        return std::nullopt;
    }
    return InList{text.substr(0, end + ending.size()), text.substr(end + ending.size() + 1)};
}

std::vector<Case> read_list(const Context& context, const fs::path& list) {
    const std::string inner = inside(context.root, fs::absolute(list));
    const std::string shown = inner.empty() ? list.string() : inner;
    try {
        std::vector<Case> cases;
        const toml::table tables = toml::parse_file(list.string());
        const fs::path base = tables["base"].value_or(solution_for(context, list).string());
        for (const auto& [key, table] : tables) {
            const std::string name(key.str());
            if (table.is_array() || (name == "base" && table.is_string())) {
                continue;  // [[equal]]: course/check/changes.hpp
            }
            cases.push_back(read_change_of(base, Fields(table, shown, name)));
            cases.back().name = name;
            cases.back().file = shown + ":" + name;
        }
        return cases;
    } catch (const toml::parse_error& error) {
        throw CommandError(
            exit_status::kOurs,
            fmt::format("{}:{}: {}", shown, error.source().begin.line, error.description())
        );
    }
}

std::vector<Case> read_cases(
    const Context& context, const fs::path& folder, const State* otherwise
) {
    std::vector<Case> cases;
    const fs::path list = context.root / (folder.string() + ".toml");
    if (fs::exists(list)) {
        cases = read_list(context, list);
    }
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(context.root / folder, absent)) {
        const fs::path kind = entry.path().extension();
        if (kind == ".cpp" || kind == ".cu") {
            cases.push_back(read_whole(context, entry.path(), otherwise));
        }
    }
    std::ranges::sort(cases, {}, &Case::name);
    return cases;
}

}  // namespace dist::cli
