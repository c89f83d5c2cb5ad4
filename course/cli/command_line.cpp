#include "course/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace dist::cli {

Option& Option::required() {
    option_->required();
    return *this;
}

Option& Option::capture_default_str() {
    option_->capture_default_str();
    return *this;
}

Option& Option::group(const std::string& name) {
    option_->group(name);
    return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
    option_->check(CLI::IsMember(words));
    return *this;
}

Option& Option::between(int first, int last) {
    option_->check(CLI::Range(first, last));
    return *this;
}

std::size_t Option::count() const {
    return option_->count();
}

Command Command::add_subcommand(const std::string& name, const std::string& what) const {
    return Command(app_->add_subcommand(name, what));
}

Option Command::add_option(const std::string& names, std::string& to, const std::string& what)
    const {
    return Option(app_->add_option(names, to, what));
}

Option Command::add_option(const std::string& names, int& to, const std::string& what) const {
    return Option(app_->add_option(names, to, what));
}

Option Command::add_option(const std::string& names, std::uint64_t& to, const std::string& what)
    const {
    return Option(app_->add_option(names, to, what));
}

Option Command::add_option(
    const std::string& names, std::vector<std::string>& to, const std::string& what
) const {
    return Option(app_->add_option(names, to, what));
}

Option Command::add_flag(const std::string& names, bool& to, const std::string& what) const {
    return Option(app_->add_flag(names, to, what));
}

void Command::footer(const std::string& text) const {
    app_->footer(text);
}

bool Command::parsed() const {
    return app_->parsed();
}

bool Command::given(const std::string& option) const {
    return app_->count(option) > 0;
}

std::vector<std::string> Command::given() const {
    std::vector<std::string> names;
    for (const CLI::Option* option : app_->get_options()) {
        if (option->count() > 0) {
            names.push_back(option->get_name());
        }
    }
    return names;
}

void Command::callback(std::function<void()> work) const {
    app_->callback(std::move(work));
}

void Command::keep_the_rest() const {
    app_->allow_extras();
    app_->fallthrough(false);  // an option that is not known here is the program's, not the app's
}

std::vector<std::string> Command::remaining() const {
    return app_->remaining();
}

}  // namespace dist::cli
