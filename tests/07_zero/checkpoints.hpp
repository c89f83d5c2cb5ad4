// Checkpoints in tests: their files, and what happens to files and must be noticed.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "course/protocol/protocol.hpp"
#include "exercises/02_naive_collectives/barrier.hpp"
#include "exercises/07_zero/sharded_checkpoint.hpp"
#include "tests/07_zero/held_parts.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/settings.hpp"

namespace dist::harness {

namespace fs = std::filesystem;

/// What rank 0 does while the others wait.
inline void on_rank_0(const Communicator& comm, const std::function<void()>& work) {
    barrier(comm);
    if (comm.rank() == 0) {
        work();
    }
    barrier(comm);
}

/// A folder without files for all ranks, which is removed with that of the run. In shared memory, if it can be:
/// a disk that others write to may take a second to bring a small file down.
inline fs::path empty_folder(const Communicator& comm, const std::string& name = "checkpoint") {
    const char* shared = std::getenv(kEnvShared);
    const fs::path folder = fs::path(shared != nullptr ? shared : "") / name;
    on_rank_0(comm, [&] { fs::remove_all(folder); });
    return folder;
}

/// Runs `body` on the first p ranks; then all meet.
inline void on_first(
    int p, const Communicator& comm, const std::function<void(const Communicator&)>& body
) {
    {
        const Communicator some = comm.split(comm.rank() < p ? 0 : MPI_UNDEFINED);
        if (comm.rank() < p) {
            body(some);
        }
    }
    barrier(comm);
}

/// The names of all files in it that begin so; those of a save's parts stand by rank, up to 10 of them.
inline std::vector<std::string> files_in(const fs::path& folder, const std::string& prefix = "") {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(prefix)) {
            names.push_back(name);
        }
    }
    std::ranges::sort(names);
    return names;
}

inline std::string text_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

inline std::string content_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void set_content(const fs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
}

/// What a disk, or somebody, can do to a file.
struct Damage {
    std::string name;
    std::function<void(const fs::path&)> apply;
};

inline Damage cut_to(const std::string& name, const std::function<std::size_t(std::size_t)>& size) {
    return {name, [=](const fs::path& file) { fs::resize_file(file, size(fs::file_size(file))); }};
}

inline Damage changed_at(
    const std::string& name, const std::function<std::size_t(std::size_t)>& at
) {
    return {name, [=](const fs::path& file) {
                std::string bytes = content_of(file);
                bytes[at(bytes.size())] ^= 1;
                set_content(file, bytes);
            }};
}

inline const std::vector<Damage> kDamages = {
    {"it is gone", [](const fs::path& file) { fs::remove(file); }},
    cut_to("it is empty", [](std::size_t) { return 0; }),
    cut_to("one byte is there", [](std::size_t) { return 1; }),
    cut_to("half of it is there", [](std::size_t size) { return size / 2; }),
    cut_to("its last byte is missing", [](std::size_t size) { return size - 1; }),
    changed_at("a bit of its first byte is another", [](std::size_t) { return 0; }),
    changed_at("a bit in the middle is another", [](std::size_t size) { return size / 2; }),
    changed_at("a bit of its last byte is another", [](std::size_t size) { return size - 1; })};

/// While it lives, this process can write no more bytes to a file, as if the disk were full then.
class FullDisk {
  public:
    explicit FullDisk(std::size_t room) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &limit_);
        const rlimit little{.rlim_cur = room, .rlim_max = limit_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &little);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &limit_);
        std::signal(SIGXFSZ, handler_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    FullDisk(FullDisk&&) = delete;
    FullDisk& operator=(FullDisk&&) = delete;

  private:
    rlimit limit_{};
    void (*handler_)(int);
};

/// All ranks have thrown it, with the same text, and this is in the text.
inline void check_thrown(const Answer& got, const std::string& says, const Communicator& comm) {
    INFO("it says: " << (got.text.empty() ? "nothing" : got.text));
    const Comparison alike =
        same_on_all_ranks(std::vector<float>(got.text.begin(), got.text.end()), comm);
    CHECK(got.what == "std::runtime_error");
    {
        INFO("all ranks must throw, and say the same");
        CHECK(alike);
    }
    INFO("it must name: " << says);
    const bool named = got.text.find(says) != std::string::npos;
    CHECK(named);
}

/// Loading fails on all ranks with this in its text, and none of the wanted elements has changed.
inline void check_refused(
    const fs::path& folder, const Parts& wanted, const std::string& says, const Communicator& comm
) {
    for (const nn::TensorPart& part : wanted) {
        part.data.fill_(7);
    }
    const Settings settings;
    const Answer got = answer(comm, [&] { load_sharded(folder, wanted, comm); });
    const Comparison left = settings.unchanged();
    check_thrown(got, says, comm);
    CHECK(left);
    for (const nn::TensorPart& part : wanted) {
        INFO("nothing is changed where loading fails: the data of " << part.name << " were 7");
        CHECK(same(
            elements(part.data.to(at::kFloat)),
            std::vector<float>(static_cast<std::size_t>(part.data.numel()), 7)
        ));
    }
}

/// Is it this step? If not: what may have become of it on its way.
inline Comparison same_step(std::int64_t got, std::int64_t expected) {
    if (got == expected) {
        return {};
    }
    std::string text = "expected step " + std::to_string(expected) + ", got " + std::to_string(got);
    if (got == static_cast<std::int64_t>(static_cast<float>(expected))) {
        text += ": it passed through a float, which has 24 bits";
    } else if (got == static_cast<std::int64_t>(static_cast<double>(expected))) {
        text += ": it passed through a double, which has 53 bits";
    } else if (got == static_cast<std::int32_t>(expected)) {
        text += ": it passed through an int, which has 32 bits";
    }
    return {false, text};
}

/// Saves, and looks whether there is a checkpoint then.
inline void save_and_look(
    const fs::path& folder, std::int64_t step, const Parts& parts, const Communicator& comm
) {
    save_sharded(folder, step, parts, comm);
    INFO("save_sharded returned, and there is no index in the folder: nothing was saved");
    const bool index_is_there = fs::exists(folder / "index");
    REQUIRE(index_is_there);
}

/// The checkpoint is of this step, and has ten(first).
inline void check_loaded(
    const fs::path& folder, std::int64_t step, float first, const Communicator& comm
) {
    const Parts wanted = ten(0);
    wanted[0].data.fill_(-1);
    INFO("then the checkpoint of step " << step << " is loaded: " << first << " and so on");
    const Comparison loaded = same_step(load_sharded(folder, wanted, comm), step);
    CHECK(same_loaded(wanted[0].data, ten(first)[0].data, -1));
    CHECK(loaded);
}

/// All ranks but rank 0 have it, or rank 0 if it is alone.
inline void save_ten(
    const fs::path& folder, std::int64_t step, float first, const Communicator& comm
) {
    save_and_look(folder, step, comm.rank() == 0 && comm.size() > 1 ? Parts{} : ten(first), comm);
}

/// A checkpoint of ten(100) is there; another of the same step is saved, as by a run that began anew, while
/// this rank has no room for larger files. All ranks say so, and the checkpoint stays as it is.
inline void saves_in_vain(
    const fs::path& folder, std::int64_t step, int rank, std::size_t room, const Communicator& comm
) {
    barrier(comm);
    const std::vector<std::string> before = files_in(folder);
    std::optional<FullDisk> disk;
    if (comm.rank() == rank) {
        disk.emplace(room);
    }
    const Answer got = answer(comm, [&] {
        const bool first = comm.rank() == 0 && comm.size() > 1;
        save_sharded(folder, step, first ? Parts{} : ten(200), comm);
    });
    disk.reset();
    check_thrown(got, "File too large", comm);
    barrier(comm);
    CHECK(text_of(files_in(folder)) == text_of(before));
    check_loaded(folder, step, 100, comm);
}

}  // namespace dist::harness
