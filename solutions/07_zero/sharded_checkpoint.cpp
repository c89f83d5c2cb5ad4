#include "exercises/07_zero/sharded_checkpoint.hpp"

#include <ATen/ops/empty_like.h>
#include <algorithm>
#include <functional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "course/files/atomic_file.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

namespace dist {

namespace fs = std::filesystem;

namespace {

/// Elements [begin, end); empty if begin >= end.
struct Interval {
    std::int64_t begin;
    std::int64_t end;
    auto operator<=>(const Interval&) const = default;
};

Interval common(const Interval& a, const Interval& b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// The elements of an interval, as a view of data whose first element is number `first`.
at::Tensor slice(const at::Tensor& data, std::int64_t first, const Interval& interval) {
    return data.narrow(0, interval.begin - first, interval.end - interval.begin);
}

}  // namespace

std::vector<nn::TensorPart> parts_of_shard(
    std::span<const std::string> names,
    std::span<const at::Tensor> tensors,
    const at::Tensor& shard,
    const Communicator& comm
) {
    expects(names.size() == tensors.size(), "parts_of_shard: each tensor has a name");
    const std::int64_t first = comm.rank() * shard.numel();  // of the shard's elements in the row
    std::vector<nn::TensorPart> parts;
    std::int64_t n = 0;  // elements of the tensors so far: here the next one begins
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::int64_t numel = tensors[i].numel();
        const Interval held = common({n, n + numel}, {first, first + shard.numel()});
        if (held.begin < held.end) {
            parts.push_back({names[i], numel, held.begin - n, slice(shard, first, held)});
        }
        n += numel;
    }
    expects(
        shard.numel() == (n + comm.size() - 1) / comm.size(),
        "parts_of_shard: the shard must have n / p elements, rounded up"
    );
    return parts;
}

namespace {

std::string file_prefix(std::int64_t save) {
    return "part-" + std::to_string(save) + "-";
}

fs::path part_file(const fs::path& folder, std::int64_t save, std::int64_t rank) {
    return folder / (file_prefix(save) + std::to_string(rank));
}

/// Each rank does its work. Returns what the first rank that failed has to say, the same text on all ranks; ""
/// if none did. Nobody returns before all have tried.
std::string first_failure(const std::function<void()>& work, const Communicator& comm) {
    std::string text;
    try {
        work();
    } catch (const std::exception& error) {
        text = error.what();
    }
    auto first = static_cast<float>(text.empty() ? comm.size() : comm.rank());
    ring_all_reduce({&first, 1}, ReduceOp::min, comm);
    const int rank = static_cast<int>(first);
    if (rank == comm.size()) {
        return "";
    }
    auto length = static_cast<float>(text.size());
    tree_broadcast({&length, 1}, rank, comm);
    std::vector<float> letters(text.begin(), text.end());
    letters.resize(static_cast<std::size_t>(length));
    tree_broadcast(letters, rank, comm);
    return {letters.begin(), letters.end()};
}

/// Rank 0 draws a number, and all ranks return it.
std::int64_t number_of_save(const Communicator& comm) {
    constexpr unsigned kWholeNumbersOfAFloat = 1U << 24U;
    auto drawn = static_cast<float>(std::random_device()() % kWholeNumbersOfAFloat);
    tree_broadcast({&drawn, 1}, 0, comm);
    return static_cast<std::int64_t>(drawn);
}

void remove_other_saves(const fs::path& folder, std::int64_t save) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("part-") && !name.starts_with(file_prefix(save))) {
            std::error_code ignored;
            fs::remove(entry.path(), ignored);
        }
    }
}

}  // namespace

void save_sharded(
    const fs::path& folder,
    std::int64_t step,
    std::span<const nn::TensorPart> parts,
    const Communicator& comm
) {
    const std::int64_t save = number_of_save(comm);
    const fs::path mine = part_file(folder, save, comm.rank());
    const auto write_part = [&] {
        fs::create_directories(folder);
        const nn::TensorFile file = {{{"save", save}}, {parts.begin(), parts.end()}};
        files::write_atomically(mine, nn::to_bytes(file));
    };
    const auto write_index = [&] {
        if (comm.rank() == 0) {
            const nn::TensorFile index = {
                {{"save", save}, {"step", step}, {"files", comm.size()}}, {}};
            files::write_atomically(folder / "index", nn::to_bytes(index));
        }
    };
    const auto remove_old = [&] {
        if (comm.rank() == 0) {
            remove_other_saves(folder, save);
        }
    };
    std::string failure = first_failure(write_part, comm);
    if (failure.empty()) {
        failure = first_failure(write_index, comm);
    }
    if (!failure.empty()) {
        std::error_code ignored;
        fs::remove(mine, ignored);
        throw std::runtime_error(failure);
    }
    first_failure(remove_old, comm);  // does no harm if it fails: the next save tries again
}

namespace {

/// A wanted part while it is read.
struct Reading {
    nn::TensorPart part;               // with data of its own
    std::vector<Interval> found = {};  // of the tensor
};

/// Takes what a saved part of the same tensor has of it.
void take(Reading& reading, const nn::TensorPart& saved, const fs::path& file) {
    const nn::TensorPart& part = reading.part;
    const auto expect_same = [&](const auto& has, const auto& wanted, const char* what) {
        if (has != wanted) {
            std::ostringstream text;
            text << file.string() << ": " << part.name << " has " << what << " " << has << ", and "
                 << wanted << " is wanted";
            throw std::runtime_error(text.str());
        }
    };
    expect_same(saved.numel, part.numel, "number of elements");
    expect_same(saved.data.scalar_type(), part.data.scalar_type(), "dtype");
    const Interval both = common(
        {saved.begin, saved.begin + saved.data.numel()},
        {part.begin, part.begin + part.data.numel()}
    );
    if (both.begin < both.end) {
        slice(part.data, part.begin, both).copy_(slice(saved.data, saved.begin, both));
        reading.found.push_back(both);
    }
}

void expect_whole(Reading& reading, const fs::path& folder) {
    const nn::TensorPart& part = reading.part;
    std::ranges::sort(reading.found);
    std::int64_t next = part.begin;  // all elements before it have been found
    for (const Interval& interval : reading.found) {
        if (interval.begin <= next) {
            next = std::max(next, interval.end);
        }
    }
    if (next < part.begin + part.data.numel()) {
        throw std::runtime_error(
            folder.string() + ": element " + std::to_string(next) + " of " + part.name +
            " is in no part that was saved"
        );
    }
}

/// Returns the step.
std::int64_t read_all(const fs::path& folder, std::vector<Reading>& wanted) {
    const auto index = nn::read_tensor_file(folder / "index").numbers;
    for (std::int64_t rank = 0; rank < index.at("files"); ++rank) {
        const fs::path path = part_file(folder, index.at("save"), rank);
        const nn::TensorFile file = nn::read_tensor_file(path);
        if (file.numbers.at("save") != index.at("save")) {
            throw std::runtime_error(path.string() + ": is of another save than the index");
        }
        for (const nn::TensorPart& saved : file.parts) {
            for (Reading& reading : wanted) {
                if (reading.part.name == saved.name) {
                    take(reading, saved, path);
                }
            }
        }
    }
    for (Reading& reading : wanted) {
        expect_whole(reading, folder);
    }
    return index.at("step");
}

}  // namespace

std::int64_t load_sharded(
    const fs::path& folder, std::span<const nn::TensorPart> wanted, const Communicator& comm
) {
    std::vector<Reading> readings;
    std::int64_t step = 0;
    const auto read = [&] {
        for (const nn::TensorPart& part : wanted) {
            readings.push_back({part});
            readings.back().part.data = at::empty_like(part.data);
        }
        step = read_all(folder, readings);
    };
    const std::string failure = first_failure(read, comm);
    if (!failure.empty()) {
        throw std::runtime_error(failure);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i].data.copy_(readings[i].part.data);
    }
    return step;
}

}  // namespace dist
