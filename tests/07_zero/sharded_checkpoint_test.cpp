// What sharded_checkpoint must do: every element on any number of ranks, and a checkpoint that is whole or of before.
#include "exercises/07_zero/sharded_checkpoint.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/07_zero/checkpoints.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/files.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_all_reduce and tree_broadcast."
);

using Names = std::vector<std::string>;

Names names_of(const Shapes& shapes) {
    Names names;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        names.push_back("layer" + std::to_string(i));
    }
    return names;
}

constexpr float kPadding = -1;

/// Of element k of tensor i.
float label(std::size_t i, std::size_t k) {
    return static_cast<float>(1000 * i + k);
}

/// A shard of labels, which tell where they are from.
at::Tensor labelled_shard(const Shapes& shapes, const Communicator& comm) {
    std::vector<float> row;
    const Tensors tensors = zeros(shapes);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        for (std::size_t k = 0; k < count(tensors[i]); ++k) {
            row.push_back(label(i, k));
        }
    }
    const long length = ceil_div(row.size(), comm.size());
    row.resize(static_cast<std::size_t>(length * comm.size()), kPadding);
    return filled({std::ssize(row)}, row).narrow(0, comm.rank() * length, length).clone();
}

std::string text_of(const Parts& parts) {
    std::string all;
    for (const nn::TensorPart& part : parts) {
        all += text(
            part.name, " [", part.begin, ", ", part.begin + part.data.numel(), ") of ", part.numel,
            "; "
        );
    }
    return all;
}

Parts parts_of(const Shapes& shapes, const at::Tensor& shard, const Communicator& comm) {
    return parts_of_shard(names_of(shapes), zeros(shapes), shard, comm);
}

void save_labels(
    const fs::path& folder, const Shapes& shapes, std::int64_t step, const Communicator& comm
) {
    save_sharded(folder, step, parts_of(shapes, labelled_shard(shapes, comm), comm), comm);
}

/// Elements that were wanted, and what was in their place before.
Comparison same_loaded(const at::Tensor& got, const at::Tensor& expected, float before) {
    return same(
        elements(got), elements(expected), 0.0,
        {{std::vector<float>(count(got), before),
          "that is what was there before: load_sharded returned, and nothing was loaded"}}
    );
}

/// Loads labels that were saved on `step` ranks.
void loads_labels(
    const fs::path& folder, const Shapes& shapes, std::int64_t step, const Communicator& comm
) {
    const at::Tensor right = labelled_shard(shapes, comm);
    const at::Tensor loaded = at::full_like(right, kPadding);
    const Parts wanted = parts_of(shapes, loaded, comm);
    INFO(
        "saved on " << step << " ranks, loaded on " << comm.size() << "; here " << text_of(wanted)
    );
    const std::int64_t loaded_step = load_sharded(folder, wanted, comm);
    INFO("element k of layer i is 1000 i + k");
    CHECK(same_loaded(loaded, right, kPadding));
    CHECK(loaded_step == step);
}

/// Intervals of the tensor ten(0).
using Cut = std::vector<std::pair<int, int>>;

/// Saves them, each by the next rank.
void save_cut(const fs::path& folder, const Cut& cut, const Communicator& comm) {
    Parts parts;
    for (std::size_t i = 0; i < cut.size(); ++i) {
        if (static_cast<int>(i) % comm.size() == comm.rank()) {
            const auto [begin, end] = cut[i];
            parts.push_back({"w", 10, begin, at::arange(begin, end, at::kFloat)});
        }
    }
    save_sharded(folder, 1, parts, comm);
}

std::string text_of(const Cut& cut) {
    std::string all = "saved, each by the next rank:";
    for (const auto& [begin, end] : cut) {
        all += text(" [", begin, ", ", end, ")");
    }
    return all;
}

/// The names of all files in it that begin so; those of a save's parts stand by rank, up to 10 of them.
Names files_in(const fs::path& folder, const std::string& prefix = "") {
    Names names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(prefix)) {
            names.push_back(name);
        }
    }
    std::ranges::sort(names);
    return names;
}

/// Is it this step? If not: what may have become of it on its way.
Comparison same_step(std::int64_t got, std::int64_t expected) {
    std::string says = text("expected step ", expected, ", got ", got);
    if (got == static_cast<std::int64_t>(static_cast<float>(expected))) {
        says += ": it passed through a float, which has 24 bits";
    } else if (got == static_cast<std::int64_t>(static_cast<double>(expected))) {
        says += ": it passed through a double, which has 53 bits";
    }
    return {got == expected, says};
}

/// ten(first) of all ranks but rank 0, or of rank 0 if it is alone.
void save_ten(const fs::path& folder, std::int64_t step, float first, const Communicator& comm) {
    save_sharded(folder, step, comm.rank() == 0 && comm.size() > 1 ? Parts{} : ten(first), comm);
    INFO("save_sharded returned, and there is no index in the folder: nothing was saved");
    const bool index_is_there = fs::exists(folder / "index");
    REQUIRE(index_is_there);
}

/// The checkpoint is of this step, and has ten(first).
void check_loaded(
    const fs::path& folder, std::int64_t step, float first, const Communicator& comm
) {
    const Parts wanted = ten(0);
    wanted[0].data.fill_(-1);
    INFO("then the checkpoint of step " << step << " is loaded: " << first << " and so on");
    const Comparison loaded = same_step(load_sharded(folder, wanted, comm), step);
    CHECK(same_loaded(wanted[0].data, ten(first)[0].data, -1));
    CHECK(loaded);
}

/// A save fails with this in its text, and the folder's files are those of before.
void saves_in_vain(
    const fs::path& folder, std::int64_t step, const std::string& says, const Communicator& comm
) {
    const Names before = files_in(folder);
    barrier(comm);
    check_thrown(answer(comm, [&] { save_ten(folder, step, 200, comm); }), says, comm);
    barrier(comm);
    CHECK(text(files_in(folder)) == text(before));
}

/// Loading fails on all ranks with this in its text, and none of the wanted elements has changed.
void check_refused(
    const fs::path& folder, const Parts& wanted, const std::string& says, const Communicator& comm
) {
    for (const nn::TensorPart& part : wanted) {
        part.data.fill_(7);
    }
    check_thrown(answer(comm, [&] { load_sharded(folder, wanted, comm); }), says, comm);
    for (const nn::TensorPart& part : wanted) {
        INFO("nothing is changed where loading fails: the data of " << part.name << " were 7");
        const std::vector<float> sevens(count(part.data), 7);
        CHECK(same(elements(part.data.to(at::kFloat)), sevens));
    }
}

}  // namespace

TEST_CASE("parts_of_shard has what a shard holds of each tensor, and nothing of the padding") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const Shapes& shapes : kModels) {
            const Tensors tensors = zeros(shapes);
            const Names names = names_of(shapes);
            const at::Tensor shard = labelled_shard(shapes, comm);
            const Parts parts = parts_of_shard(names, tensors, shard, comm);
            INFO("rank " << comm.rank() << " of " << comm.size() << ": " << text_of(parts));
            std::int64_t held = 0;
            for (const nn::TensorPart& part : parts) {
                const auto i =
                    static_cast<std::size_t>(std::ranges::find(names, part.name) - names.begin());
                REQUIRE(i < tensors.size());
                CHECK(part.numel == tensors[i].numel());
                std::vector<float> labels;
                for (std::int64_t k = 0; k < part.data.numel(); ++k) {
                    labels.push_back(label(i, static_cast<std::size_t>(part.begin + k)));
                }
                INFO(part.name << ": element k of layer i is 1000 i + k");
                CHECK(same(elements(part.data), labels));
                CHECK_FALSE(labels.empty());
                INFO("the data of " << part.name << " are a view of the shard");
                CHECK(part.data.data_ptr() == shard.data_ptr<float>() + held);
                held += part.data.numel();
            }
            CHECK(held == std::ranges::count_if(elements(shard), [](float x) { return x >= 0; }));
        }
    });
}

TEST_CASE("parts_of_shard refuses a tensor without a name, and a shard of another length") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const Tensors tensors = zeros({{4}, {3}});
        const Names names = {"layer0", "layer1", "layer2"};
        const long right = ceil_div(7, comm.size());
        for (const auto& [n, length] : std::vector<std::pair<std::size_t, long>>{
                 {1, right}, {3, right}, {2, right - 1}, {2, right + 1}}) {
            const at::Tensor shard = at::zeros({length});
            const std::string what = text("2 tensors with ", n, " names, a shard of ", length);
            const auto call = [&, n = n] {
                parts_of_shard(std::span(names).first(n), tensors, shard, comm);
            };
            refuses(comm, what, call, as_now({shard}));
        }
    });
}

TEST_CASE("no two saves have one number, also of two processes that have begun alike") {
    on_ranks({2}, [](const Communicator& comm) {
        const fs::path numbers = empty_folder(comm, "numbers");
        const fs::path folder = empty_folder(comm, text("of rank ", comm.rank()));
        on_rank_0(comm, [&] { fs::create_directories(numbers); });
        const Communicator alone = comm.split(comm.rank());
        constexpr std::size_t kSaves = 12;
        for (std::size_t i = 0; i < kSaves; ++i) {
            save_ten(folder, 1, 0, alone);
            set_content(numbers / files_in(folder, "part-").at(0), "");
        }
        barrier(comm);
        INFO(
            kSaves << " saves of each of two processes, each in a folder of its own: a run that "
                      "begins anew must not draw the numbers of the one before"
        );
        CHECK(files_in(numbers).size() == 2 * kSaves);
    });
}

TEST_CASE("tensors may have more than 2^31 elements, and more than 2^53") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        const std::int64_t p = comm.size();
        for (const std::int64_t large : {std::int64_t{1} << 32, (std::int64_t{1} << 53) + 65}) {
            // one number in memory stands for all: what counts is where a part begins
            const at::Tensor one = at::ones({1});
            const Tensors tensors = {one.expand({large}), one.expand({5})};
            const std::int64_t length = (large + 5 + p - 1) / p;
            const Names names = {"large", "small"};
            const Parts parts = parts_of_shard(names, tensors, one.expand({length}), comm);
            INFO("a tensor of " << large << " elements and one of 5, on " << counted(p, "rank"));
            const std::int64_t first = comm.rank() * length;
            Parts right = {{"large", large, first, one.expand({std::min(length, large - first)})}};
            if (comm.rank() + 1 == p) {
                right.push_back({"small", 5, 0, one.expand({5})});
            }
            CHECK(text_of(parts) == text_of(right));

            const auto piece = [&](float value) {
                const std::int64_t begin = large - 3 * p + 3 * comm.rank();
                return Parts{{"large", large, begin, at::full({3}, value)}};
            };
            const Parts loaded = piece(-1);
            const std::int64_t step = large + (1 << 29);  // a float rounds it up, a double down
            const auto value = static_cast<float>(comm.rank() + 1);
            save_sharded(folder, step, piece(value), comm);
            CHECK(same_step(load_sharded(folder, loaded, comm), step));
            INFO("each rank saves and loads 3 of its last elements");
            CHECK(same(elements(loaded[0].data), std::vector<float>(3, value)));
        }
    });
}

TEST_CASE("what p ranks have saved, q ranks load, for all p and q from 1 to 4") {
    on_ranks({4}, [](const Communicator& comm) {
        for (const Shapes& shapes : kModels) {
            const fs::path folder = empty_folder(comm);
            for (const int p : {2, 3, 1, 4}) {
                on_first(p, comm, [&](const Communicator& some) {
                    save_labels(folder, shapes, p, some);
                });
                for (const int q : {2, 3, 1, 4}) {
                    on_first(q, comm, [&](const Communicator& some) {
                        loads_labels(folder, shapes, p, some);
                    });
                }
            }
        }
    });
}

TEST_CASE("parts may overlap, come in any order, be empty, and a rank may have none") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const Cut& cut :
             {Cut{{0, 10}}, Cut{{6, 10}, {0, 6}}, Cut{{0, 8}, {1, 3}, {8, 10}},
              Cut{{5, 10}, {0, 0}, {0, 3}, {2, 5}, {10, 10}, {3, 5}}}) {
            const fs::path folder = empty_folder(comm);
            INFO(text_of(cut));
            save_cut(folder, cut, comm);
            for (const auto& [begin, end] : Cut{{0, 10}, {3, 7}, {4, 4}}) {
                const at::Tensor data = at::full({end - begin}, -1, at::kFloat);
                const Parts wanted = {{"w", 10, begin, data}};
                INFO("rank 0 wants [" << begin << ", " << end << "), and no other any");
                load_sharded(folder, comm.rank() == 0 ? wanted : Parts{}, comm);
                if (comm.rank() == 0) {
                    CHECK(same(elements(data), elements(at::arange(begin, end, at::kFloat))));
                }
            }
        }
    });
}

TEST_CASE("a tensor keeps its dtype: bfloat16, int64 and others, every bit") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        Parts saved;
        Parts loaded;
        for (const auto& [name, tensor] :
             zoo({at::kBFloat16, at::kHalf, at::kFloat, at::kDouble, at::kLong, at::kBool},
                 comm.rank(), 0, Strides::alike, {Layout::contiguous})) {
            const at::Tensor data = tensor.contiguous().view({-1});
            const std::int64_t n = data.numel();
            saved.push_back({name, n * comm.size(), n * comm.rank(), data});
            loaded.push_back({name, n * comm.size(), n * comm.rank(), at::zeros_like(data)});
        }
        save_sharded(folder, 1, saved, comm);
        load_sharded(folder, loaded, comm);
        for (std::size_t i = 0; i < saved.size(); ++i) {
            INFO(saved[i].name);
            CHECK(identical(loaded[i].data, saved[i].data));
        }
    });
}

TEST_CASE("a rank that cannot write stops all ranks, and the checkpoint of before stays") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (int full = 0; full < comm.size(); ++full) {
            const fs::path folder = empty_folder(comm);
            INFO(
                "a checkpoint is saved; then another, when the disk of rank " << full << " is full"
            );
            save_ten(folder, 5, 100, comm);
            {
                std::optional<FullDisk> disk;
                if (comm.rank() == full) {
                    disk.emplace(0);
                }
                // of the same step, as by a run that began anew
                saves_in_vain(folder, 5, "File too large", comm);
            }
            check_loaded(folder, 5, 100, comm);
        }
    });
}

TEST_CASE("an index that cannot be written stops all ranks, and the checkpoint of before stays") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        const fs::path index = folder / "index";
        save_ten(folder, 1, 100, comm);
        on_rank_0(comm, [&] {
            fs::rename(index, folder / "kept");
            fs::create_directories(index / "of somebody");
        });
        INFO("a checkpoint is saved; then another, and a folder stands where the index belongs");
        saves_in_vain(folder, 2, "index", comm);
        on_rank_0(comm, [&] {
            fs::remove_all(index);
            fs::rename(folder / "kept", index);
        });
        check_loaded(folder, 1, 100, comm);
    });
}

TEST_CASE("the index takes the place of the old one at once, and is never half written") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        save_sharded(folder, 1, ten(0), comm);
        const std::string before = content_of(folder / "index");
        const fs::path old = folder / "the old index";
        on_rank_0(comm, [&] { fs::create_hard_link(folder / "index", old); });
        save_sharded(folder, 2, ten(0), comm);
        INFO("a second name for the old index: the new one must be a file of its own");
        CHECK(content_of(old) == before);
        check_loaded(folder, 2, 0, comm);
    });
}

TEST_CASE("a save leaves a part of each rank and the index, and nothing of saves before it") {
    on_ranks({4}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        for (const int p : {4, 2, 3, 1, 1}) {
            on_rank_0(comm, [&] {
                fs::create_directories(folder);
                set_content(folder / "part-5-1.1234.partial", "of a save that never ended");
                set_content(folder / "notes", "of somebody");
            });
            on_first(p, comm, [&](const Communicator& some) {
                save_sharded(folder, 1, ten(0), some);
                const Names files = files_in(folder);
                const std::string part = files_in(folder, "part-").at(0);
                Names expected = {"index", "notes"};
                for (int rank = 0; rank < p; ++rank) {
                    expected.push_back(text(part.substr(0, part.rfind('-')), "-", rank));
                }
                INFO("saved on " << counted(p, "rank") << "; part-SAVE-0 is rank 0's, and so on");
                CHECK(text(files) == text(expected));
            });
        }
    });
}

TEST_CASE("a folder may lie deep, and have long names; texts name it whole") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm) / "not there yet" / std::string(255, 'x') /
                                "a \"name\", and another/" / "Zürich";
        save_ten(folder, 1, 100, comm);
        check_loaded(folder, 1, 100, comm);
        on_rank_0(comm, [&] { fs::remove(folder / files_in(folder, "part-")[0]); });
        check_refused(folder, ten(0), (folder / "part-").string(), comm);
    });
}

TEST_CASE("what cannot be removed keeps nothing else from being removed") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        // one is found before the old parts, one after them, in whatever order files are found
        on_rank_0(comm, [&] { fs::create_directories(folder / "part-0-0" / "of somebody"); });
        save_sharded(folder, 1, ten(0), comm);
        on_rank_0(comm, [&] { fs::create_directories(folder / "part-9-9" / "of somebody"); });
        save_sharded(folder, 2, ten(100), comm);
        INFO("two folders whose names begin with part- stand there, with a folder in each");
        CHECK(files_in(folder, "part-").size() == static_cast<std::size_t>(comm.size()) + 2);
        check_loaded(folder, 2, 100, comm);
    });
}

TEST_CASE("a file that is not there, damaged or of another save is named, on all ranks") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        const fs::path another = empty_folder(comm, "another");
        // what is missing in one file is in the others, too
        save_sharded(folder, 1, ten(100), comm);
        save_sharded(another, 1, ten(200), comm);
        barrier(comm);
        const Names parts = files_in(folder, "part-");
        const Names others = files_in(another, "part-");
        REQUIRE(parts.size() == static_cast<std::size_t>(comm.size()));
        const auto refused = [&](const std::string& name, const char* how, const auto& damage) {
            const std::string bytes = content_of(folder / name);
            on_rank_0(comm, [&] { damage(folder / name); });
            INFO(name << ": " << how);
            check_refused(folder, ten(0), name, comm);
            on_rank_0(comm, [&] { set_content(folder / name, bytes); });
        };
        Names files = parts;
        files.push_back("index");
        for (const std::string& file : files) {
            refused(file, "it is gone", [](const fs::path& path) { fs::remove(path); });
            refused(file, "half of it is there", [](const fs::path& path) {
                fs::resize_file(path, fs::file_size(path) / 2);
            });
        }
        for (std::size_t i = 0; i < parts.size(); ++i) {
            refused(parts[i], "it is of another save, of the same step", [&](const fs::path& path) {
                set_content(path, content_of(another / others[i]));
            });
        }
        check_loaded(folder, 1, 100, comm);
    });
}

TEST_CASE("a tensor that was not saved, or is another, is named on all ranks") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        save_sharded(folder, 1, ten(0), comm);
        const auto refused = [&](const char* how, const nn::TensorPart& part) {
            Parts wanted = ten(0);
            if (comm.rank() == comm.size() - 1) {
                wanted.push_back(part);
            }
            INFO("the last rank wants " << part.name << ": " << how);
            check_refused(folder, wanted, part.name, comm);
        };
        refused("there is none", {"bias", 2, 0, at::zeros({2})});
        refused("of fewer elements", {"w", 9, 0, at::zeros({9})});
        refused("of more elements", {"w", 11, 0, at::zeros({10})});
        refused("of float64, and it is float32", {"w", 10, 0, at::zeros({10}, at::kDouble)});
    });
}

TEST_CASE("an element that is in no part is noticed, also where others are in several") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        for (const Cut& cut :
             {Cut{{1, 10}}, Cut{{0, 9}}, Cut{}, Cut{{5, 10}, {0, 4}, {2, 3}},
              Cut{{0, 4}, {0, 4}, {6, 10}, {6, 10}}}) {
            INFO(text_of(cut));
            save_cut(folder, cut, comm);
            check_refused(folder, ten(0), "w", comm);
        }
        {
            INFO("elements 3 and 4 are wanted, and 4 is in no part");
            check_refused(folder, {{"w", 10, 3, at::zeros({2})}}, "w", comm);
        }
        INFO("who does not want elements 4 and 5 is not kept from the others");
        load_sharded(folder, Parts{{"w", 10, 6, at::zeros({4})}}, comm);
    });
}

TEST_CASE("no element is sent, and loading holds the wanted parts and one file") {
    on_ranks({4, 1, 2}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        const std::int64_t n = 50'000;
        const std::int64_t all = comm.size() * n;
        const Cost few = {.messages_sent = at_most(100), .bytes_sent = at_most(400)};
        const auto part = [&](std::int64_t begin, std::int64_t length) {
            return Parts{{"w", all, begin, at::ones({length})}};
        };
        const Parts own = part(comm.rank() * n, n);
        const Traffic saving = record(comm, [&] { save_sharded(folder, 1, own, comm); });
        const Parts wanted = comm.rank() == 0 ? part(0, all) : part(0, n);
        const MemoryBefore before;
        forget_peak();
        const Traffic loading = record(comm, [&] { load_sharded(folder, wanted, comm); });
        const std::size_t peak = before.peak_since();
        INFO("each rank saves " << 4 * n << " bytes");
        CHECK(within(saving, few));
        CHECK(within(loading, few));
        INFO(
            wanted[0].data.nbytes() << " bytes are wanted, a file has " << own[0].data.nbytes()
                                    << "; vectors and strings count as tensors do"
        );
        CHECK(peak <= wanted[0].data.nbytes() + own[0].data.nbytes() + 1000);
    });
}

TEST_CASE("a message that fails leaves the checkpoint of before") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        save_sharded(folder, 1, ten(100), comm);
        {
            const FailingMessages failing;
            CHECK(answer(comm, [&] { save_sharded(folder, 2, ten(200), comm); }).what == kError);
            CHECK(answer(comm, [&] { load_sharded(folder, ten(0), comm); }).what == kError);
        }
        check_loaded(folder, 1, 100, comm);
    });
}

TEST_CASE("sharded_checkpoint takes ranks from the communicator it is given") {
    on_ranks({4}, [](const Communicator& comm) {
        const int color = comm.rank() % 2;
        const fs::path folder = empty_folder(comm, text("of color ", color));
        const Communicator pair = comm.split(color, -comm.rank());
        save_labels(folder, kShapes, 2, pair);
        loads_labels(folder, kShapes, 2, pair);
    });
}

TEST_CASE("sharded_checkpoint is right on 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        save_labels(folder, kShapes, 11, comm);
        loads_labels(folder, kShapes, 11, comm);
    });
}
