// What sharded_checkpoint must do: every element on any number of ranks, and a checkpoint that is whole or of before.
#include "exercises/07_zero/sharded_checkpoint.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "tests/07_zero/checkpoints.hpp"
#include "tests/07_zero/held_parts.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_all_reduce and tree_broadcast."
);

}  // namespace

TEST_CASE("parts_of_shard has what a shard holds of each tensor, and nothing of the padding") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const Shapes& shapes : kCutModels) {
            const Tensors tensors = zeros(shapes);
            const at::Tensor shard = labelled_shard(shapes, comm);
            const Parts parts = parts_of_shard(names_of(tensors), tensors, shard, comm);
            const Parts right = parts_of_labels(shapes, shard);
            INFO("rank " << comm.rank() << " of " << comm.size());
            REQUIRE(text_of(parts) == text_of(right));
            for (std::size_t i = 0; i < parts.size(); ++i) {
                INFO("the data of " << parts[i].name << " are a view of the shard");
                CHECK(parts[i].data.data_ptr() == right[i].data.data_ptr());
            }
        }
    });
}

TEST_CASE("no two saves have one number, also of two processes that have begun alike") {
    on_ranks({2}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm, "of rank " + std::to_string(comm.rank()));
        const Communicator alone = comm.split(comm.rank());
        constexpr std::size_t kSaves = 12;
        constexpr std::size_t kPieces = 3;  // of a number, so that floats hold them
        std::vector<float> pieces(2 * kSaves * kPieces);
        auto next = pieces.begin() + comm.rank() * std::ssize(pieces) / 2;
        for (std::size_t i = 0; i < kSaves; ++i) {
            save_and_look(folder, 1, {}, alone);
            const std::vector<std::string> parts = files_in(folder, "part-");
            REQUIRE(parts.size() == 1);
            auto number = std::stoull(parts[0].substr(std::string("part-").size()));
            for (std::size_t k = 0; k < kPieces; ++k) {
                *next++ = static_cast<float>(number % (1U << 22U));
                number >>= 22U;
            }
        }
        ring_all_gather(pieces, comm);
        std::set<std::vector<float>> all;
        for (auto piece = pieces.begin(); piece != pieces.end(); piece += kPieces) {
            all.emplace(piece, piece + kPieces);
        }
        INFO(
            kSaves << " saves of each of two processes, each in a folder of its own: a run that "
                      "begins anew must not draw the numbers of the one before"
        );
        CHECK(all.size() == 2 * kSaves);
    });
}

TEST_CASE("parts_of_shard refuses a tensor without a name, and a shard of another length") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const Tensors tensors = zeros({{4}, {3}});
        const Names names = {"layer0", "layer1", "layer2"};
        const std::int64_t right = ceil_div(7, comm.size());
        const auto refused = [&](std::size_t n, std::int64_t length) {
            const at::Tensor shard = at::zeros({length});
            refuses(
                comm,
                "7 elements of 2 tensors with " + std::to_string(n) + " names, a shard of " +
                    std::to_string(length),
                [&] { parts_of_shard(std::span(names).first(n), tensors, shard, comm); },
                as_now({shard})
            );
        };
        refused(1, right);
        refused(3, right);
        refused(2, right - 1);
        refused(2, right + 1);
    });
}

TEST_CASE("tensors may have more than 2^31 elements, and more than 2^53") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        const std::int64_t p = comm.size();
        for (const std::int64_t large :
             {std::int64_t{1} << 31, std::int64_t{1} << 32, (std::int64_t{1} << 53) + 65}) {
            // one number in memory stands for all: what counts is where a part begins
            const at::Tensor one = at::ones({1});
            const Tensors tensors = {one.expand({large}), one.expand({5})};
            const std::int64_t length = (large + 5 + p - 1) / p;
            const Names names = {"large", "small"};
            const Parts parts = parts_of_shard(names, tensors, one.expand({length}), comm);
            INFO("a tensor of " << large << " elements and one of 5, on " << counted(p, "rank"));
            REQUIRE_FALSE(parts.empty());
            const std::int64_t first = comm.rank() * length;
            const Parts right = {
                {"large", large, first, one.expand({std::min(length, large - first)})},
                {"small", 5, 0, one.expand({large + 5 - std::max(first, large)})}};
            const bool last = comm.rank() + 1 == comm.size();
            CHECK(text_of(parts) == text_of(last ? right : Parts{right[0]}));

            const auto piece = [&](float value) {
                return Parts{
                    {"large", large, large - 3 * p + 3 * comm.rank(),
                     at::full({3}, value + static_cast<float>(comm.rank()))}};
            };
            const Parts loaded = piece(-100);
            const std::int64_t step = large + (1 << 29);  // a float rounds it up, a double down
            save_sharded(folder, step, piece(1), comm);
            CHECK(same_step(load_sharded(folder, loaded, comm), step));
            INFO("each rank saves and loads 3 of its last elements");
            CHECK(same(elements(loaded[0].data), elements(piece(1)[0].data)));
        }
    });
}

TEST_CASE("what p ranks have saved, q ranks load, for all p and q from 1 to 4") {
    on_ranks({4}, [](const Communicator& comm) {
        for (const Shapes& shapes : kModels) {
            const fs::path folder = empty_folder(comm);
            for (const int p : {2, 3, 1, 4}) {
                on_first(p, comm, [&](const Communicator& some) {
                    save_and_look(folder, p, HeldModel(shapes, some).parts, some);
                });
                for (const int q : {2, 3, 1, 4}) {
                    on_first(q, comm, [&](const Communicator& some) {
                        loads_right(folder, shapes, p, some);
                    });
                }
            }
        }
    });
}

TEST_CASE("parts may overlap, come in any order, be empty, and a rank may have none") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const Cut& cut :
             {Cut{{0, 10}}, Cut{{6, 10}, {0, 6}}, Cut{{0, 10}, {0, 10}, {0, 10}},
              Cut{{0, 6}, {4, 10}}, Cut{{0, 8}, {1, 3}, {8, 10}},
              Cut{{5, 10}, {0, 0}, {0, 3}, {2, 5}, {10, 10}, {3, 5}}}) {
            const fs::path folder = empty_folder(comm);
            INFO(text_of(cut));
            save_sharded(folder, 1, parts_of(cut, comm), comm);
            for (const auto& [begin, end] : Cut{{0, 10}, {3, 7}, {9, 10}, {4, 4}}) {
                const at::Tensor data = at::full({end - begin}, -1, at::kFloat);
                const Parts wanted = {{"w", 10, begin, data}};
                INFO("rank 0 wants [" << begin << ", " << end << "), and no other any");
                load_sharded(folder, comm.rank() == 0 ? wanted : Parts{}, comm);
                const at::Tensor right =
                    comm.rank() == 0 ? at::arange(begin, end, at::kFloat) : data;
                CHECK(same(elements(data), elements(right)));
            }
        }
    });
}

TEST_CASE("a tensor keeps its dtype: bfloat16, int64 and others, every bit") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        Parts saved;
        Parts loaded;
        const auto add = [&](const std::string& name, const at::Tensor& data) {
            const std::int64_t n = data.numel();
            saved.push_back({name, n * comm.size(), n * comm.rank(), data});
            loaded.push_back({name, n * comm.size(), n * comm.rank(), at::zeros_like(data)});
        };
        for (const auto dtype : {at::kBFloat16, at::kLong, at::kFloat, at::kDouble, at::kBool}) {
            const double value = dtype == at::kLong ? 0x1p+60 / 3 : 1.0 / 3;
            add(c10::toString(dtype), at::full({3}, value, at::kDouble).to(dtype));
        }
        for (const auto dtype : {at::kBFloat16, at::kHalf, at::kFloat, at::kDouble}) {
            const at::Tensor numbers = extraordinary(dtype, comm.rank());
            add(std::string("-0.0, infinities and NaNs of ") + c10::toString(dtype), numbers);
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
            saves_in_vain(folder, 5, full, 0, comm);
        }
    });
}

TEST_CASE("an index that cannot be written stops all ranks, and the checkpoint of before stays") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        {
            INFO("a folder stands where the index belongs");
            on_rank_0(comm, [&] { fs::create_directories(folder / "index"); });
            const Answer got = answer(comm, [&] { save_ten(folder, 1, 0, comm); });
            check_thrown(got, "index", comm);
            barrier(comm);
            CHECK(text_of(files_in(folder)) == "index");
        }
        on_rank_0(comm, [&] { fs::remove(folder / "index"); });
        INFO(
            "a checkpoint is saved; then another, and rank 0 has room for its part, not for the "
            "index"
        );
        const std::int64_t step = 1'000'000'000'000'000;  // and so more bytes in the index
        save_ten(folder, step, 100, comm);
        const std::size_t digits = 9;  // of a save's number, which may be a shorter one
        saves_in_vain(folder, step, 0, fs::file_size(folder / "index") - digits, comm);
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
                set_content(folder / "part-5-0", "of a save that never ended");
                set_content(folder / "part-5-1.1234.partial", "of the same");
                set_content(folder / "notes", "of somebody");
            });
            on_first(p, comm, [&](const Communicator& some) {
                save_sharded(folder, 1, ten(0), some);
                const std::vector<std::string> files = files_in(folder);
                INFO(
                    "saved on " << counted(p, "rank")
                                << "; notes are no part of it: " << text_of(files)
                );
                CHECK(files.size() == static_cast<std::size_t>(p) + 2);
                CHECK(std::ranges::count(files, "index") == 1);
                CHECK(std::ranges::count(files, "notes") == 1);
                CHECK(std::ranges::count(files, "part-5-0") == 0);
                const std::vector<std::string> parts = files_in(folder, "part-");
                const std::string save = parts.at(0).substr(0, parts[0].rfind('-'));
                std::vector<std::string> expected;
                for (int rank = 0; rank < p; ++rank) {
                    expected.push_back(save + "-" + std::to_string(rank));
                }
                INFO("part-SAVE-0 is rank 0's part, and so on");
                CHECK(text_of(parts) == text_of(expected));
            });
        }
    });
}

TEST_CASE("a folder may lie deep, and have long names; texts name it whole") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm) / "not there yet" / std::string(255, 'x') /
                                "a \"name\", and another/" / "Zürich";
        save_and_look(folder, 1, ten(100), comm);
        check_loaded(folder, 1, 100, comm);
        on_rank_0(comm, [&] { fs::remove(folder / files_in(folder, "part-")[0]); });
        const std::string path = (folder / "part-").string();
        check_refused(folder, ten(0), path, comm);
        on_rank_0(comm, [&] { fs::remove(folder / "index"); });
        check_refused(folder, ten(0), (folder / "index").string(), comm);
    });
}

TEST_CASE("what cannot be removed keeps nothing else from being removed") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        const auto lies = [&](const char* name) {
            fs::create_directories(folder / name);
            set_content(folder / name / "file", "of somebody");
        };
        // one is found before the old parts, one after them, in whatever order files are found
        on_rank_0(comm, [&] { lies("part-0-0"); });
        save_sharded(folder, 1, ten(0), comm);
        on_rank_0(comm, [&] { lies("part-9-9"); });
        save_sharded(folder, 2, ten(100), comm);
        INFO("two folders whose names begin with part- stand there, with a file in each");
        CHECK(files_in(folder, "part-").size() == static_cast<std::size_t>(comm.size()) + 2);
        check_loaded(folder, 2, 100, comm);
    });
}

TEST_CASE("a file that is not there, damaged or of another save is named, on all ranks") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        const fs::path another = empty_folder(comm, "another");
        {
            INFO("nobody has saved yet: without an index there is no checkpoint");
            check_refused(folder, ten(0), "index", comm);
        }
        // what is missing in one file is in the others, too
        save_sharded(folder, 1, ten(100), comm);
        save_sharded(another, 1, ten(200), comm);
        barrier(comm);
        const std::vector<std::string> parts = files_in(folder, "part-");
        const std::vector<std::string> others = files_in(another, "part-");
        REQUIRE(parts.size() == static_cast<std::size_t>(comm.size()));
        const auto refused = [&](const std::string& name, const Damage& damage) {
            const std::string bytes = content_of(folder / name);
            on_rank_0(comm, [&] { damage.apply(folder / name); });
            INFO(name << ": " << damage.name);
            check_refused(folder, ten(0), name, comm);
            on_rank_0(comm, [&] { set_content(folder / name, bytes); });
        };
        for (const Damage& damage : kDamages) {
            refused("index", damage);
            for (const std::string& part : parts) {
                refused(part, damage);
            }
        }
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const std::string bytes = content_of(another / others[i]);
            refused(
                parts[i], {"it is of another save, of the same step",
                           [&](const fs::path& file) { set_content(file, bytes); }}
            );
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
        refused("of bfloat16, and it is float32", {"w", 10, 0, at::zeros({10}, at::kBFloat16)});
    });
}

TEST_CASE("an element that is in no part is noticed, also where others are in several") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const Cut& cut :
             {Cut{{0, 4}, {6, 10}}, Cut{{1, 10}}, Cut{{0, 9}}, Cut{},
              Cut{{0, 4}, {0, 4}, {6, 10}, {6, 10}}, Cut{{5, 10}, {0, 4}, {2, 3}}}) {
            const fs::path folder = empty_folder(comm);
            INFO(text_of(cut));
            save_sharded(folder, 1, parts_of(cut, comm), comm);
            check_refused(folder, ten(0), "w", comm);
        }
        const fs::path folder = empty_folder(comm);
        save_sharded(folder, 1, parts_of(Cut{{0, 4}, {6, 10}}, comm), comm);
        {
            INFO("elements 3 and 4 are wanted, and 4 is in no part");
            check_refused(folder, {{"w", 10, 3, at::zeros({2})}}, "w", comm);
        }
        const Parts wanted = {{"w", 10, 6, at::zeros({4})}};
        check_refused(folder, {{"w", 10, 4, at::zeros({3})}}, "w", comm);
        INFO("who does not want that element is not kept from the others");
        load_sharded(folder, wanted, comm);
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
        const Comparison saved =
            within(record(comm, [&] { save_sharded(folder, 1, own, comm); }), few);
        INFO("each rank saves " << 4 * n << " bytes");
        CHECK(saved);
        const Parts wanted = comm.rank() == 0 ? part(0, all) : part(0, n);
        const MemoryBefore before;
        forget_peak();
        const Comparison loaded =
            within(record(comm, [&] { load_sharded(folder, wanted, comm); }), few);
        CHECK(loaded);
        const std::size_t peak = before.peak_since();
        const std::size_t most = wanted[0].data.nbytes() + own[0].data.nbytes();
        INFO(
            wanted[0].data.nbytes() << " bytes are wanted, a file has " << own[0].data.nbytes()
                                    << "; vectors and strings count as tensors do"
        );
        CHECK(peak <= most + 1000);
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
        const fs::path folders[] = {empty_folder(comm, "even"), empty_folder(comm, "odd")};
        const int color = comm.rank() % 2;
        const Communicator pair = comm.split(color, -comm.rank());
        save_sharded(folders[color], 2, HeldModel(kShapes, pair).parts, pair);
        loads_right(folders[color], kShapes, 2, pair);
    });
}

TEST_CASE("sharded_checkpoint is right on 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        save_sharded(folder, 11, HeldModel(kShapes, comm).parts, comm);
        loads_right(folder, kShapes, 11, comm);
        on_first(3, comm, [&](const Communicator& some) {
            loads_right(folder, kShapes, 11, some);
        });
    });
}
