// The command line, as the files of commands see it. CLI11 stands behind it, and is included by no
// command: it would take longer to compile than all the rest of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
class Option;
}  // namespace CLI

namespace dist::cli {

/// An option or a flag of a command.
class Option {
  public:
    explicit Option(CLI::Option* option) : option_(option) {}
    Option& required();
    Option& capture_default_str();
    Option& group(const std::string& name);
    Option& one_of(const std::vector<std::string>& words);
    Option& between(int first, int last);
    [[nodiscard]] std::size_t count() const;

  private:
    CLI::Option* option_;
};

/// The program, or one of its commands.
class Command {
  public:
    explicit Command(CLI::App* app) : app_(app) {}
    [[nodiscard]] Command add_subcommand(const std::string& name, const std::string& what) const;
    // NOLINTBEGIN(modernize-use-nodiscard): the option is in the command, whether one looks at it or not
    Option add_option(const std::string& names, std::string& to, const std::string& what) const;
    Option add_option(const std::string& names, int& to, const std::string& what) const;
    Option add_option(const std::string& names, std::uint64_t& to, const std::string& what) const;
    Option add_option(
        const std::string& names, std::vector<std::string>& to, const std::string& what
    ) const;
    Option add_flag(const std::string& names, bool& to, const std::string& what) const;
    // NOLINTEND(modernize-use-nodiscard)
    void footer(const std::string& text) const;
    /// Whether the command line names it; when it has been read.
    [[nodiscard]] bool parsed() const;
    /// Whether the command line has this option of the command's: "--ranks".
    [[nodiscard]] bool given(const std::string& option) const;
    /// The command's own options that the command line has: "--ranks", "NAME".
    [[nodiscard]] std::vector<std::string> given() const;
    void callback(std::function<void()> work) const;
    /// What the command does not know is kept, in order: remaining().
    void keep_the_rest() const;
    [[nodiscard]] std::vector<std::string> remaining() const;

  private:
    CLI::App* app_;
};

}  // namespace dist::cli
