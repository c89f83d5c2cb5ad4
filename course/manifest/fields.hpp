// Fields of a table in one of the course's lists, read with the line to look at where one is wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <utility>
#include <vector>

#include "course/process/error.hpp"

namespace dist::cli {

/// Reads the fields of one table and says which one is wrong.
class Fields {
  public:
    /// `file` as a message names it; `list` is what the table is an element of.
    Fields(const toml::node& node, std::string file, std::string list)
        : file_(std::move(file)), list_(std::move(list)) {
        if (node.as_table() == nullptr) {
            refuse(node, "is not a table");
        }
        table_ = node.as_table();
    }

    [[nodiscard]] bool has(const char* field) const { return table_->contains(field); }

    template <class T>
    T get(const char* field) const {
        const toml::node* node = table_->get(field);
        if (node == nullptr) {
            refuse(*table_, fmt::format("has no field '{}'", field));
        }
        const auto value = node->value_exact<T>();
        if (!value) {
            refuse(*node, fmt::format("field '{}' has the wrong type", field));
        }
        return *value;
    }
    int number(const char* field) const { return static_cast<int>(get<std::int64_t>(field)); }
    std::string text(const char* field) const { return get<std::string>(field); }
    /// False where it is not there.
    bool flag(const char* field) const { return has(field) && get<bool>(field); }

    std::vector<std::string> texts(const char* field) const {
        const toml::array* array = (*table_)[field].as_array();
        if (array == nullptr) {
            refuse(*table_, fmt::format("has no list '{}'", field));
        }
        std::vector<std::string> result;
        for (const toml::node& node : *array) {
            const auto value = node.value_exact<std::string>();
            if (!value) {
                refuse(node, fmt::format("list '{}' holds something other than text", field));
            }
            result.push_back(*value);
        }
        return result;
    }

    /// The table in this one; none where it is not there.
    std::optional<Fields> table(const char* field) const {
        const toml::node* node = table_->get(field);
        return node == nullptr ? std::nullopt
                               : std::optional(Fields(*node, file_, list_ + "." + field));
    }

    /// The tables of a list in this one; none where it is not there.
    std::vector<Fields> tables(const char* field) const {
        std::vector<Fields> result;
        if (const toml::array* array = (*table_)[field].as_array()) {
            for (const toml::node& node : *array) {
                result.emplace_back(node, file_, list_ + "." + field);
            }
        }
        return result;
    }

    [[nodiscard]] int line() const { return static_cast<int>(table_->source().begin.line); }

    /// Refuses any other field.
    void only(const std::vector<std::string_view>& known) const {
        for (const auto& [key, node] : *table_) {
            if (std::ranges::find(known, key.str()) == known.end()) {
                refuse(node, fmt::format("has a field '{}', which has no meaning", key.str()));
            }
        }
    }

    [[noreturn]] void refuse(const std::string& what) const { refuse(*table_, what); }

  private:
    [[noreturn]] void refuse(const toml::node& node, const std::string& what) const {
        throw CommandError(
            exit_status::kOurs,
            fmt::format("{}:{}: [[{}]] {}", file_, node.source().begin.line, list_, what)
        );
    }

    std::string file_;
    std::string list_;
    const toml::table* table_ = nullptr;
};

}  // namespace dist::cli
