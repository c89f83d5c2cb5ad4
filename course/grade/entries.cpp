#include "course/grade/entries.hpp"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <system_error>

#include "course/grade/submissions.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> kEndings = {
    ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tgz", ".tbz2", ".txz", ".tar", ".zip"};

bool is_utf8(std::string_view bytes) {
    return as_text(bytes) == bytes;
}

/// Why an entry of this name is not taken; empty when it is.
std::string why_not(std::string_view path) {
    if (!is_utf8(path)) {
        return "its name is no UTF-8";
    }
    if (path.starts_with("/") || path.find('\0') != std::string_view::npos) {
        return "its name begins outside";
    }
    for (const fs::path& part : fs::path(path)) {
        if (part == "..") {
            return "its name climbs out";
        }
    }
    return "";
}

std::string refusal(std::string_view path, const std::string& why) {
    return fmt::format("{}: not taken, {}", as_text(path), why);
}

std::vector<std::string> entries_of_folder(
    const fs::path& folder, const std::function<void(const Entry&)>& take
) {
    std::vector<std::string> refused;
    std::size_t count = 0;
    std::error_code ignored;
    const auto options = fs::directory_options::skip_permission_denied;
    for (auto at = fs::recursive_directory_iterator(folder, options, ignored);
         at != fs::recursive_directory_iterator(); at.increment(ignored)) {
        const std::string path = at->path().lexically_relative(folder).string();
        if (++count > kMostEntries) {
            refused.push_back(
                fmt::format("it has more than {} files: the rest was not looked at", kMostEntries)
            );
            break;
        }
        if (at->is_symlink(ignored)) {
            refused.push_back(refusal(path, "it is a link"));
        } else if (at->is_regular_file(ignored)) {
            if (const std::string why = why_not(path); !why.empty()) {
                refused.push_back(refusal(path, why));
                continue;
            }
            const auto changed = std::chrono::floor<std::chrono::seconds>(
                std::chrono::file_clock::to_sys(at->last_write_time(ignored))
            );
            take({path, changed, [&](std::size_t most) {
                      std::ifstream in(at->path(), std::ios::binary);
                      std::string text(most + 1, '\0');
                      in.read(text.data(), static_cast<std::streamsize>(text.size()));
                      text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)
                      ));
                      return text;
                  }});
        } else if (!at->is_directory(ignored)) {
            refused.push_back(refusal(path, "it is no ordinary file"));
        }
    }
    return refused;
}

using Archive = std::unique_ptr<archive, decltype(&archive_read_free)>;

/// What libarchive has to say of what went wrong; it may be at a loss.
std::string error_of(archive* from) {
    const char* const text = archive_error_string(from);
    return text == nullptr ? "nobody knows why" : text;
}

std::optional<std::chrono::sys_seconds> changed_at(archive_entry* entry) {
    if (archive_entry_mtime_is_set(entry) == 0) {
        return std::nullopt;
    }
    return std::chrono::sys_seconds(std::chrono::seconds(archive_entry_mtime(entry)));
}

/// The entry's bytes, up to `most` and one more.
std::string read_data(archive* from, std::size_t most) {
    std::string text(most + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const la_ssize_t n = archive_read_data(from, text.data() + size, text.size() - size);
        if (n <= 0) {
            break;
        }
        size += static_cast<std::size_t>(n);
    }
    text.resize(size);
    return text;
}

std::vector<std::string> entries_of_archive(
    const fs::path& file, const std::function<void(const Entry&)>& take
) {
    const Archive from(archive_read_new(), &archive_read_free);
    archive_read_support_format_zip(from.get());
    archive_read_support_format_tar(from.get());
    archive_read_support_filter_all(from.get());
    std::vector<std::string> refused;
    constexpr std::size_t kBlock = 65536;
    if (archive_read_open_filename(from.get(), file.c_str(), kBlock) != ARCHIVE_OK) {
        return {fmt::format("the archive cannot be read: {}", error_of(from.get()))};
    }
    archive_entry* entry = nullptr;
    std::size_t count = 0;
    while (true) {
        const int status = archive_read_next_header(from.get(), &entry);
        if (status == ARCHIVE_EOF) {
            break;
        }
        if (status < ARCHIVE_WARN) {
            refused.push_back(
                fmt::format("the archive is broken from here on: {}", error_of(from.get()))
            );
            break;
        }
        // what has been unpacked to come here counts: a bomb is small outside, and long inside
        const auto unpacked = static_cast<std::size_t>(
            archive_filter_bytes(from.get(), 0) + std::max<la_int64_t>(0, archive_entry_size(entry))
        );
        if (++count > kMostEntries || unpacked > kMostBytes) {
            refused.push_back(fmt::format(
                "it unpacks to more than {} files or {} MB: the rest was not looked at",
                kMostEntries, kMostBytes >> 20U
            ));
            break;
        }
        const char* const name = archive_entry_pathname(entry);
        const std::string path = name == nullptr ? "" : name;
        const bool link =
            archive_entry_hardlink(entry) != nullptr || archive_entry_filetype(entry) == AE_IFLNK;
        if (archive_entry_is_encrypted(entry) != 0) {
            refused.push_back(refusal(path, "it is encrypted"));
        } else if (link) {
            refused.push_back(refusal(path, "it is a link"));
        } else if (archive_entry_filetype(entry) == AE_IFREG) {
            if (const std::string why = why_not(path); !why.empty()) {
                refused.push_back(refusal(path, why));
            } else {
                take({path, changed_at(entry), [&](std::size_t most) {
                          return read_data(from.get(), most);
                      }});
            }
        } else if (archive_entry_filetype(entry) != AE_IFDIR) {
            refused.push_back(refusal(path, "it is no ordinary file"));
        }
    }
    return refused;
}

std::string_view ending_of(std::string_view name) {
    const auto* const found =
        std::find_if(kEndings.begin(), kEndings.end(), [&](std::string_view e) {
            return name.size() > e.size() && name.ends_with(e);
        });
    return found == kEndings.end() ? "" : *found;
}

}  // namespace

bool is_archive(const fs::path& file) {
    return !ending_of(file.filename().string()).empty();
}

std::string without_ending(const fs::path& file) {
    const std::string name = file.filename().string();
    const std::string_view ending = ending_of(name);
    return ending.empty() ? name : name.substr(0, name.size() - ending.size());
}

std::vector<std::string> for_each_entry(
    const fs::path& folder_or_archive, const std::function<void(const Entry&)>& take
) {
    return fs::is_directory(folder_or_archive) ? entries_of_folder(folder_or_archive, take)
                                               : entries_of_archive(folder_or_archive, take);
}

}  // namespace dist::cli
