// Snapshots that fail: a disk that is full, a folder that cannot be made, a part that cannot be copied.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/10_elastic/snapshots.hpp"

namespace dist::harness {

/// Nobody can make it: a file stands in its way.
inline fs::path impossible_folder(const Communicator& comm) {
    const fs::path folder = empty_folder(comm, "impossible");
    on_rank_0(comm, [&] { set_content(folder, "a file"); });
    return folder / "below";
}

/// The call that has to throw the error of a snapshot.
enum class Comes { of_take, of_wait };

/// Step 1 is written, and step 2 is not, since the disk of rank `full` is: then the next call throws.
inline void error_comes_out(Comes from, int full, const Communicator& comm) {
    const fs::path folder = empty_folder(comm);
    Snapshots snapshots(folder, comm);
    Training training(comm);
    written(snapshots, training, 1, comm);
    Answer got;
    {
        std::optional<FullDisk> disk;
        if (comm.rank() == full) {
            disk.emplace(100);
        }
        training.is_taken(snapshots, 2);
        got = tried([&] {
            from == Comes::of_take ? training.is_taken(snapshots, 3) : snapshots.wait();
        });
    }
    INFO(
        "step 2 is taken while the disk of rank " << full << " is full; then "
                                                  << (from == Comes::of_take ? "take" : "wait")
    );
    check_thrown(got, "File too large", comm);
    {
        INFO("an error comes out once, and the take() that throws it has taken nothing");
        const Answer again = tried([&] { snapshots.wait(); });
        CHECK(again.what == kReturned);
        barrier(comm);
        check_snapshot(folder, 1, comm);
    }
    written(snapshots, training, 4, comm);
    check_snapshot(folder, 4, comm);
}

/// Rank `full` can write some bytes of its part, and no more.
inline void full_at_any_byte(int full, const Communicator& comm) {
    const fs::path folder = empty_folder(comm);
    Snapshots snapshots(folder, comm);
    Training training(comm);
    written(snapshots, training, 1, comm);
    const std::vector<std::string> before = files_in(folder);
    const std::string part = files_in(folder, "part-").at(static_cast<std::size_t>(full));
    const std::size_t digits = 9;  // of the number of a save, which may be a shorter one
    const std::size_t most = fs::file_size(folder / part) - digits;
    barrier(comm);
    for (std::size_t room = 0; room < most; room += 31) {
        INFO("step 2 is taken, and rank " << full << " can write " << room << " bytes of its part");
        std::optional<FullDisk> disk;
        if (comm.rank() == full) {
            disk.emplace(room);
        }
        training.is_taken(snapshots, 2);
        const Answer got = tried([&] { snapshots.wait(); });
        disk.reset();
        check_thrown(got, "File too large", comm);
        CHECK(text_of(files_in(folder)) == text_of(before));
        check_snapshot(folder, 1, comm);
    }
}

/// Step 1 is written, and of step 2 no message arrives.
inline void messages_fail(const Communicator& comm) {
    const fs::path folder = empty_folder(comm);
    Snapshots snapshots(folder, comm);
    Training training(comm);
    written(snapshots, training, 1, comm);
    Answer got;
    {
        const FailingMessages failing;
        training.is_taken(snapshots, 2);
        got = tried([&] { snapshots.wait(); });
    }
    barrier(comm);
    INFO("step 2 is taken while all messages fail; then wait(): " << got.text);
    CHECK(got.what == kError);
    check_snapshot(folder, 1, comm);
}

/// Rank `bad` has a part that is no tensor.
inline void copy_fails(int bad, const Communicator& comm) {
    const bool is_bad = comm.rank() == bad;
    const fs::path folder = empty_folder(comm);
    Snapshots snapshots(folder, comm);
    Training training(comm);
    written(snapshots, training, 1, comm);
    training.goes_to(2);
    Parts parts = training.parts;
    if (is_bad) {
        parts.insert(parts.begin() + 1, {"no tensor", 4, 0, at::Tensor()});
    }
    const Answer took = tried([&] { snapshots.take(2, parts, training.bytes()); });
    const Answer waited = tried([&] { snapshots.wait(); });
    if (is_bad && took.what != kReturned && waited.what == kReturned) {
        training.is_taken(snapshots, 3);  // or the others would wait for ever
    }
    INFO("step 2 is taken, and rank " << bad << " cannot copy one of its parts");
    if (is_bad) {
        INFO("take() must throw here: it has no copy");
        CHECK(took.what != kReturned);
    } else {
        INFO("take() returns where there is a copy");
        CHECK(took.what == kReturned);
    }
    {
        INFO("then all ranks wait()");
        check_thrown(waited, "rank " + std::to_string(bad), comm);
    }
    {
        INFO("an error comes out once");
        const Answer again = tried([&] { snapshots.wait(); });
        CHECK(again.what == kReturned);
    }
    check_snapshot(folder, 1, comm);
    written(snapshots, training, 4, comm);
    check_snapshot(folder, 4, comm);
}

/// The last snapshot has failed, and nobody has asked.
inline void destroyed_with_an_error(const Communicator& comm) {
    const fs::path folder = impossible_folder(comm);
    Training training(comm);
    {
        Snapshots snapshots(folder, comm);
        training.is_taken(snapshots, 1);
    }
    Snapshots snapshots(folder, comm);
    training.is_taken(snapshots, 1);
    INFO("a file stands where the folder should be; then wait()");
    check_thrown(tried([&] { snapshots.wait(); }), "Not a directory", comm);
}

/// The snapshot of one fails, and another one's is written.
inline void another_has_no_error(const Communicator& comm) {
    const fs::path folder = empty_folder(comm);
    Training training(comm);
    Snapshots fails(impossible_folder(comm), comm);
    Snapshots other(folder, comm);
    training.is_taken(fails, 1);
    const Answer took = tried([&] { training.is_taken(other, 2); });
    const Answer waited = tried([&] { other.wait(); });
    INFO("two Snapshots: the folder of the first cannot be made, that of the second can");
    CHECK(took.text.empty());
    CHECK(waited.text.empty());
    check_thrown(tried([&] { fails.wait(); }), "Not a directory", comm);
    check_snapshot(folder, 2, comm);
}

/// Loading fails, and changes neither tensors nor bytes.
inline void refuses_extra(
    const fs::path& folder, std::size_t n, const std::string& says, const Communicator& comm
) {
    const at::Tensor data = at::full({10}, 7, at::kFloat);
    const Parts wanted = {{"w", 10, 0, data}};
    std::vector<std::byte> room(n, std::byte{7});
    const Answer got = answer(comm, [&] { load_snapshot(folder, wanted, room, comm); });
    INFO("room is for " << counted(n, "extra byte") << ": all that it has was 7");
    check_thrown(got, says, comm);
    const Comparison unchanged = same(elements(data), std::vector<float>(10, 7));
    CHECK(unchanged);
    const bool is_kept = room == std::vector<std::byte>(n, std::byte{7});
    CHECK(is_kept);
}

/// No snapshot, and then one with 6 extra bytes.
inline void refuses_other_lengths(const Communicator& comm) {
    const fs::path folder = empty_folder(comm);
    refuses_extra(folder, 6, "index", comm);
    Snapshots snapshots(folder, comm);
    const std::vector<std::byte> extra(6, std::byte{5});
    snapshots.take(1, ten(0), extra);
    snapshots.wait();
    barrier(comm);
    for (const std::size_t n : {5, 7, 0}) {
        refuses_extra(folder, n, "snapshot.extra", comm);
    }
    std::vector<std::byte> room(6);
    CHECK(load_snapshot(folder, {}, room, comm) == 1);
    const bool is_loaded = room == extra;
    CHECK(is_loaded);
}

}  // namespace dist::harness
