// Looks at all files before it changes anything, and then reads them once more; has a mark for each element in the place of
// intervals; numbers saves by the clock; all ranks tell all others how it went.
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "course/files/atomic_file.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/07_zero/sharded_checkpoint.hpp"

namespace dist {

namespace fs = std::filesystem;

std::vector<nn::TensorPart> parts_of_shard(
    std::span<const std::string> names,
    std::span<const at::Tensor> tensors,
    const at::Tensor& shard,
    const Communicator& comm
) {
    std::int64_t n = 0;
    for (const at::Tensor& tensor : tensors) {
        n += tensor.numel();
    }
    const std::int64_t length = shard.numel();
    if (names.size() != tensors.size() || length * comm.size() < n ||
        (length > 0 && (length - 1) * comm.size() >= n)) {
        throw std::invalid_argument("parts_of_shard: names or shard do not fit the tensors");
    }
    // from here on, elements are those of the shard; the tensors before it begin below 0
    std::int64_t begin = -comm.rank() * length;
    std::vector<nn::TensorPart> parts;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::int64_t numel = tensors[i].numel();
        const std::int64_t from = std::clamp<std::int64_t>(begin, 0, length);
        const std::int64_t to = std::clamp<std::int64_t>(begin + numel, 0, length);
        if (from != to) {
            parts.push_back({names[i], numel, from - begin, shard.narrow(0, from, to - from)});
        }
        begin += numel;
    }
    return parts;
}

namespace {

/// Throws the text of the first rank that has one, on all ranks.
void throw_together(std::string text, const Communicator& comm) {
    std::vector<float> lengths(static_cast<std::size_t>(comm.size()));
    lengths[static_cast<std::size_t>(comm.rank())] = static_cast<float>(text.size());
    ring_all_gather(lengths, comm);
    const auto first = std::ranges::find_if(lengths, [](float length) { return length > 0; });
    if (first != lengths.end()) {
        std::vector<float> letters(text.begin(), text.end());
        letters.resize(static_cast<std::size_t>(*first));
        broadcast(letters, static_cast<int>(first - lengths.begin()), comm);
        throw std::runtime_error(std::string(letters.begin(), letters.end()));
    }
}

template <class Work>
std::string text_of_failure(const Work& work) {
    try {
        work();
        return "";
    } catch (const std::exception& error) {
        return error.what();
    }
}

std::int64_t now_on_rank_0(const Communicator& comm) {
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    constexpr std::int64_t kTwenty = 1 << 20;  // bits of a float that are surely whole
    std::vector<float> thirds;
    for (std::int64_t rest = now; rest > 0; rest /= kTwenty) {
        thirds.push_back(static_cast<float>(rest % kTwenty));
    }
    thirds.resize(4);
    broadcast(thirds, 0, comm);
    std::int64_t number = 0;
    for (auto third = thirds.rbegin(); third != thirds.rend(); ++third) {
        number = number * kTwenty + static_cast<std::int64_t>(*third);
    }
    return number;
}

fs::path part_file(const fs::path& folder, std::int64_t save, std::int64_t rank) {
    return folder / ("part-" + std::to_string(save) + "-" + std::to_string(rank));
}

}  // namespace

void save_sharded(
    const fs::path& folder,
    std::int64_t step,
    std::span<const nn::TensorPart> parts,
    const Communicator& comm
) {
    const std::int64_t save = now_on_rank_0(comm);
    const fs::path own = part_file(folder, save, comm.rank());
    try {
        throw_together(
            text_of_failure([&] {
                fs::create_directories(folder);
                files::write_atomically(
                    own, nn::to_bytes({{{"of", save}}, {parts.begin(), parts.end()}})
                );
            }),
            comm
        );
        throw_together(
            text_of_failure([&] {
                if (comm.rank() == 0) {
                    files::write_atomically(
                        folder / "index",
                        nn::to_bytes({{{"p", comm.size()}, {"of", save}, {"done", step}}, {}})
                    );
                }
            }),
            comm
        );
    } catch (const std::runtime_error&) {
        std::error_code ignored;
        fs::remove(own, ignored);
        throw;
    }
    if (comm.rank() == 0) {
        std::vector<fs::path> old;
        const std::string current = "part-" + std::to_string(save) + "-";
        for (const auto& entry : fs::directory_iterator(folder)) {
            const std::string name = entry.path().filename().string();
            if (name.substr(0, 5) == "part-" && name.substr(0, current.size()) != current) {
                old.push_back(entry.path());
            }
        }
        for (const fs::path& path : old) {
            std::error_code ignored;
            fs::remove(path, ignored);
        }
    }
    throw_together("", comm);  // all wait for that
}

std::int64_t load_sharded(
    const fs::path& folder, std::span<const nn::TensorPart> wanted, const Communicator& comm
) {
    std::map<std::string, std::int64_t> index;
    std::vector<at::Tensor> marks;
    for (const nn::TensorPart& part : wanted) {
        marks.push_back(at::zeros({part.data.numel()}, at::kBool));
    }
    // looks, and marks; or copies
    const auto read = [&](bool copy) {
        index = nn::read_tensor_file(folder / "index").numbers;
        for (std::int64_t r = 0; r < index.at("p"); ++r) {
            const fs::path path = part_file(folder, index.at("of"), r);
            const nn::TensorFile file = nn::read_tensor_file(path);
            expects(file.numbers.at("of") == index.at("of"), (path.string() + ": is old").c_str());
            for (const nn::TensorPart& saved : file.parts) {
                for (std::size_t i = 0; i < wanted.size(); ++i) {
                    const nn::TensorPart& part = wanted[i];
                    if (part.name != saved.name) {
                        continue;
                    }
                    expects(
                        part.numel == saved.numel && part.data.dtype() == saved.data.dtype(),
                        (path.string() + ": has another " + part.name).c_str()
                    );
                    const std::int64_t shift = saved.begin - part.begin;
                    const std::int64_t from = std::max<std::int64_t>(shift, 0);
                    const std::int64_t n =
                        std::min(part.data.numel(), shift + saved.data.numel()) - from;
                    if (n > 0 && copy) {
                        part.data.narrow(0, from, n).copy_(saved.data.narrow(0, from - shift, n));
                    } else if (n > 0) {
                        marks[i].narrow(0, from, n).fill_(true);
                    }
                }
            }
        }
    };
    throw_together(
        text_of_failure([&] {
            read(false);
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                expects(
                    marks[i].all().item<bool>(),
                    (folder.string() + ": not all of " + wanted[i].name + " is there").c_str()
                );
            }
        }),
        comm
    );
    throw_together(text_of_failure([&] { read(true); }), comm);
    return index.at("done");
}

}  // namespace dist
