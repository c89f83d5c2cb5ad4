#include "course/grade/entries.hpp"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <cctype>
#include <clocale>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <system_error>

#include "course/grade/submissions.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 12> kEndings = {".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst",
                                                       ".tar.z",  ".tgz",     ".tbz2",   ".txz",
                                                       ".taz",    ".tar",     ".zip",    ".7z"};

/// What git, the course's command and CMake make: no answer is in it, and it may be large.
bool is_made(const fs::path& folder) {
    return folder == ".git" || folder == ".shardlings" || folder == "build";
}

/// libarchive gives names in the characters of the locale, and none where they are not in it.
class NamesInUtf8 {
  public:
    NamesInUtf8() : before_(uselocale(utf8_)) {}
    ~NamesInUtf8() {
        uselocale(before_);
        freelocale(utf8_);
    }
    NamesInUtf8(const NamesInUtf8&) = delete;
    NamesInUtf8& operator=(const NamesInUtf8&) = delete;

  private:
    locale_t utf8_ = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    locale_t before_;
};

/// Why an entry of this name is not taken; empty when it is.
std::string why_not(std::string_view path) {
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

Entry entry_of(const fs::path& file, const fs::path& path) {
    std::error_code ignored;
    const auto changed = std::chrono::floor<std::chrono::seconds>(
        std::chrono::file_clock::to_sys(fs::last_write_time(file, ignored))
    );
    return {as_text(path.string()), changed, [file](std::size_t most) {
                std::ifstream in(file, std::ios::binary);
                std::string text(most + 1, '\0');
                in.read(text.data(), static_cast<std::streamsize>(text.size()));
                text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
                return text;
            }};
}

std::vector<NotTaken> entries_of_folder(
    const fs::path& folder, const std::function<void(const Entry&)>& take
) {
    std::vector<NotTaken> refused;
    std::size_t count = 0;
    std::error_code ignored;
    const auto options = fs::directory_options::skip_permission_denied;
    for (auto at = fs::recursive_directory_iterator(folder, options, ignored);
         at != fs::recursive_directory_iterator(); at.increment(ignored)) {
        go_on_unless_interrupted();
        const fs::path path = at->path().lexically_relative(folder);
        const bool made = std::any_of(path.begin(), path.end(), is_made);
        if (!made && ++count > kMostEntries) {
            refused.push_back(
                {"",
                 fmt::format("it has more than {} files: the rest was not looked at", kMostEntries)}
            );
            break;
        }
        if (at->is_symlink(ignored)) {
            refused.push_back({as_text(path.string()), "it is a link"});
        } else if (at->is_regular_file(ignored)) {
            take(entry_of(at->path(), path));
        } else if (!at->is_directory(ignored)) {
            refused.push_back({as_text(path.string()), "it is no ordinary file"});
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

/// Why an entry of an archive is not taken; empty when it is.
std::string why_not(archive_entry* entry, const std::string& path) {
    if (archive_entry_is_encrypted(entry) != 0) {
        return "it is encrypted";
    }
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_filetype(entry) == AE_IFLNK) {
        return "it is a link";
    }
    if (archive_entry_filetype(entry) != AE_IFREG) {
        return "it is no ordinary file";
    }
    return path.empty() ? "it has no name that can be read" : why_not(path);
}

/// How much has been unpacked so far. A bomb is small outside, and long inside.
class Unpacked {
  public:
    /// Whether this entry is too much.
    bool add(archive* from, archive_entry* entry, const fs::path& path) {
        const auto size = std::max<la_int64_t>(0, archive_entry_size(entry));
        const auto all = archive_filter_bytes(from, 0) + size;
        if (std::any_of(path.begin(), path.end(), is_made)) {
            made_ += size;
        } else {
            ++count_;
        }
        constexpr la_int64_t kMost = kMostBytes;
        constexpr int kMade = 16;  // times as much
        return count_ > kMostEntries || all - made_ > kMost || all > kMade * kMost;
    }

  private:
    std::size_t count_ = 0;
    la_int64_t made_ = 0;
};

std::vector<NotTaken> entries_of_archive(
    const fs::path& file, const std::function<void(const Entry&)>& take
) {
    const NamesInUtf8 names;
    const Archive from(archive_read_new(), &archive_read_free);
    archive_read_support_format_zip(from.get());
    archive_read_support_format_tar(from.get());
    archive_read_support_format_7zip(from.get());
    archive_read_support_filter_all(from.get());
    std::vector<NotTaken> refused;
    constexpr std::size_t kBlock = 65536;
    if (archive_read_open_filename(from.get(), file.c_str(), kBlock) != ARCHIVE_OK) {
        return {{"", fmt::format("the archive cannot be read: {}", error_of(from.get()))}};
    }
    Unpacked unpacked;
    for (archive_entry* entry = nullptr;;) {
        go_on_unless_interrupted();
        const int status = archive_read_next_header(from.get(), &entry);
        if (status == ARCHIVE_EOF) {
            break;
        }
        if (status < ARCHIVE_WARN) {
            refused.push_back(
                {"", fmt::format("the archive is broken from here on: {}", error_of(from.get()))}
            );
            break;
        }
        const char* const name = archive_entry_pathname(entry);
        const std::string path = name == nullptr ? "" : name;
        if (unpacked.add(from.get(), entry, path)) {
            refused.push_back(
                {"", fmt::format(
                         "it unpacks to more than {} files or {} MB: the rest was not looked at",
                         kMostEntries, kMostBytes >> 20U
                     )}
            );
            break;
        }
        if (archive_entry_filetype(entry) == AE_IFDIR) {
            continue;
        }
        if (const std::string why = why_not(entry, path); !why.empty()) {
            refused.push_back({as_text(path), why});
        } else {
            take({as_text(path), changed_at(entry), [&](std::size_t most) {
                      return read_data(from.get(), most);
                  }});
        }
    }
    return refused;
}

std::string_view ending_of(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
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

std::vector<NotTaken> for_each_entry(
    const fs::path& place, const std::function<void(const Entry&)>& take
) {
    if (fs::is_directory(place)) {
        return entries_of_folder(place, take);
    }
    if (is_archive(place)) {
        return entries_of_archive(place, take);
    }
    take(entry_of(place, place.filename()));
    return {};
}

}  // namespace dist::cli
