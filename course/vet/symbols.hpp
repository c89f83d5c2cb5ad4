// The names that an object defines and needs, as nm lists them, and which of them are refused.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "course/process/context.hpp"
#include "course/vet/vet.hpp"

namespace dist::cli {

struct Symbol {
    std::string name;  // as the linker knows it
    char kind = '?';   // nm's letter: U needed, T code, W weak, ...

    [[nodiscard]] bool is_needed() const { return kind == 'U' || kind == 'w' || kind == 'v'; }
    /// Two of them may stand beside each other: inline functions and templates.
    [[nodiscard]] bool is_weak() const {
        return kind == 'W' || kind == 'V' || kind == 'u' || kind == 'w' || kind == 'v';
    }
    /// "dist::ring_shift(std::span<float const>, ...)"; the name itself where it is none of C++.
    [[nodiscard]] std::string readable() const;
};

/// A shared library has two; the other one is for whoever looks for mistakes in it.
enum class Table { linkers, dynamic };

/// All that are global.
std::vector<Symbol> symbols_of(
    const Context& context,
    const std::vector<std::filesystem::path>& objects,
    Table table = Table::linkers
);

/// What why_not_needed() says of a name that it has never heard of.
inline constexpr const char* kUnknown = "not known to be harmless";

/// Why an answer must not need this; empty when it may.
std::string why_not_needed(const Symbol& symbol, Strictness strictness);

/// Whether it is for exercises with sockets: refused, or not known, to all others.
bool is_for_sockets(const Symbol& symbol);

/// Names that the rest of a test's program defines; `strong`: but those of inline functions and templates.
struct Taken {
    std::set<std::string> all;
    std::set<std::string> strong;
};

/// Why an answer must not define this; empty when it may. `is_own`: its code stands in the answer, and not in a header.
std::string why_not_defined(const Symbol& symbol, const Taken& taken, bool is_own);

}  // namespace dist::cli
