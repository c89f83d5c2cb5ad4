// device_mesh: groups as Megatron and PyTorch make them, coordinates, and what making them may cost.
#include "exercises/08_model_parallel/device_mesh.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/quick.hpp"
#include "tests/harness/words/text.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Groups = std::vector<std::vector<int>>;
using Names = std::vector<std::string>;

/// "tp-dp"
std::string joined(const Names& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : "-") + name;
    }
    return text;
}

/// A mesh, and the names of its dimensions, the fastest first.
struct Mesh {
    std::vector<MeshDim> dims;
    Names order;
};

/// "dp=2, tp=3, order tp-dp"
std::string text_of(const std::vector<MeshDim>& dims, const std::string& order) {
    std::string all;
    for (const MeshDim& dim : dims) {
        all += text(dim.name, "=", dim.size, ", ");
    }
    return all + "order " + order;
}

/// The coordinates of all ranks, in the order of dims: counted up as a mileage counter does.
Groups coordinates_of(const Mesh& mesh) {
    Groups all;
    std::vector<int> now(mesh.dims.size(), 0);
    do {
        all.push_back(now);
        for (const std::string& name : mesh.order) {
            const auto dim = std::ranges::find(mesh.dims, name, &MeshDim::name);
            int& coordinate = now[static_cast<std::size_t>(dim - mesh.dims.begin())];
            coordinate = (coordinate + 1) % dim->size;
            if (coordinate != 0) {
                break;
            }
        }
    } while (std::ranges::any_of(now, std::identity()));
    return all;
}

/// The ranks whose coordinates differ from those of `rank` along these names alone; or, with `in_common`, in all
/// others alone.
std::vector<int> members(
    const Mesh& mesh, const Names& along, std::size_t rank, bool in_common = false
) {
    const Groups all = coordinates_of(mesh);
    std::vector<int> ranks;
    for (std::size_t other = 0; other < all.size(); ++other) {
        bool in = true;
        for (std::size_t i = 0; i < mesh.dims.size(); ++i) {
            const bool may_differ = (std::ranges::count(along, mesh.dims[i].name) > 0) != in_common;
            in = in && (may_differ || all[other][i] == all[rank][i]);
        }
        if (in) {
            ranks.push_back(static_cast<int>(other));
        }
    }
    return ranks;
}

/// What a wrong group is likely to be.
std::string likely(
    const std::vector<int>& got, const Mesh& mesh, const Names& along, std::size_t rank
) {
    const auto is_of = [&](const Names& order) {
        return got == members({mesh.dims, order}, along, rank);
    };
    Names listed;
    for (const MeshDim& dim : mesh.dims) {
        listed.push_back(dim.name);
    }
    if (got.empty()) {
        return ": an empty communicator: a rank is in a group along every dimension";
    }
    if (std::ranges::is_permutation(got, members(mesh, along, rank))) {
        return ": the right ranks in another order: they ascend";
    }
    if (is_of({mesh.order.rbegin(), mesh.order.rend()})) {
        return ": as if the last name of order varied fastest: the first does";
    }
    if (is_of(listed) || is_of({listed.rbegin(), listed.rend()})) {
        return ": as if ranks were dealt out in the order of dims: order says which varies fastest";
    }
    if (got == members(mesh, along, rank, true)) {
        return ": these have this coordinate in common; ranks of a group have all others in common";
    }
    return "";
}

Comparison same_members(
    const std::vector<int>& got, const Mesh& mesh, const Names& along, std::size_t rank
) {
    const std::vector<int> right = members(mesh, along, rank);
    if (got == right) {
        return {};
    }
    return {
        false, text(
                   "along ", joined(along), ", the group of rank ", rank, ": expected [", right,
                   "], got [", got, "]", likely(got, mesh, along, rank)
               )};
}

Comparison same_groups(const Groups& got, const Mesh& mesh, const Names& along) {
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < coordinates_of(mesh).size(); ++rank) {
        if (members(mesh, along, rank).front() != static_cast<int>(rank)) {
            continue;
        }
        const Comparison same =
            count < got.size() ? same_members(got[count], mesh, along, rank) : Comparison();
        if (!same) {
            return {false, text("group ", count, " ", same.text)};
        }
        ++count;
    }
    return {
        got.size() == count,
        text("along ", joined(along), ": expected ", count, " groups, got ", got.size())};
}

/// The ranks in `comm` of a group's members, by rank in the group.
std::vector<int> ranks_in(const Communicator& comm, const Communicator& group) {
    if (group.size() == 0) {
        return {};
    }
    std::vector<int> there(static_cast<std::size_t>(group.size()));
    std::iota(there.begin(), there.end(), 0);
    std::vector<int> here(there.size());
    MPI_Group of_group = MPI_GROUP_NULL;
    MPI_Group of_comm = MPI_GROUP_NULL;
    MPI_Comm_group(group.handle(), &of_group);
    MPI_Comm_group(comm.handle(), &of_comm);
    MPI_Group_translate_ranks(of_group, group.size(), there.data(), of_comm, here.data());
    MPI_Group_free(&of_group);
    MPI_Group_free(&of_comm);
    return here;
}

/// What is no mesh, and why.
struct NoMesh {
    std::vector<MeshDim> dims;
    std::string order;
    std::string why;
};

std::vector<NoMesh> no_meshes() {
    constexpr int kMany = 1 << 16;
    return {
        {{}, "", "no dimension"},
        {{{"dp", 2}, {"tp", 4}}, "dp", "order lacks tp"},
        {{{"dp", 2}, {"tp", 4}}, "dp-pp", "order has pp in the place of tp"},
        {{{"dp", 2}, {"tp", 4}}, "dp-tp-dp", "order has dp twice"},
        {{{"dp", 2}, {"tp", 4}}, "dp--tp", "order has an empty name"},
        {{{"dp", 2}, {"dp", 4}}, "dp-dp", "two dimensions are called dp"},
        {{{"", 2}, {"tp", 4}}, "-tp", "a name is empty"},
        {{{"dp-tp", 8}}, "dp-tp", "a name has a '-'"},
        {{{"dp", 0}, {"tp", 8}}, "dp-tp", "a size is 0"},
        {{{"dp", -2}, {"tp", -4}}, "dp-tp", "sizes are negative"},
        {{{"dp", kMany}, {"tp", kMany}}, "dp-tp", "2^32 ranks"},
        {{{"dp", 3}, {"tp", 1'431'655'768}}, "dp-tp", "2^32 + 8 ranks: 8, if an int wraps"}};
}

/// Calls body(mesh, comm) for meshes of p ranks: several orders, lines, dimensions of size 1, a name inside of
/// another one.
void on_meshes(
    const std::vector<int>& worlds,
    const std::function<void(const Mesh&, const Communicator&)>& body
) {
    const auto meshes_of = [](int p) -> std::vector<Mesh> {
        if (p == 8) {
            const std::vector<MeshDim> cube = {{"dp", 2}, {"pp", 2}, {"tp", 2}};
            return {
                {cube, {"tp", "dp", "pp"}},
                {cube, {"dp", "pp", "tp"}},
                {{{"edp", 4}, {"dp", 2}}, {"edp", "dp"}},
                {{{"pp", 2}, {"ep", 1}, {"tp", 4}}, {"pp", "tp", "ep"}}};
        }
        return {{{{"dp", p}}, {"dp"}}, {{{"pp", 1}, {"dp", p}, {"tp", 1}}, {"tp", "pp", "dp"}}};
    };
    on_ranks_each(
        worlds, [&](int p) { return meshes_of(p).size(); },
        [&](const Communicator& comm, std::size_t number) {
            const Mesh mesh = meshes_of(comm.size())[number];
            INFO(text_of(mesh.dims, joined(mesh.order)));
            body(mesh, comm);
        }
    );
}

/// Each group of the mesh has the ranks that it must have, and this rank the coordinates.
void check_mesh(const DeviceMesh& mesh, const Mesh& wanted, const Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    for (std::size_t i = 0; i < wanted.dims.size(); ++i) {
        const std::string name = wanted.dims[i].name;
        CHECK(same_members(ranks_in(comm, mesh.group(name)), wanted, {name}, rank));
        INFO("dimension " << name << ", rank " << rank);
        CHECK(mesh.coordinate(name) == coordinates_of(wanted)[rank][i]);
        CHECK(mesh.size(name) == wanted.dims[i].size);
    }
}

/// One communicator, and nothing else that ranks tell each other.
void check_splits(const Traffic& traffic, std::size_t wanted) {
    CHECK(within(traffic, {.messages_sent = exactly(0)}));
    if (traffic.counted) {
        INFO("communicators that were made, one split for each group; and collectives");
        CHECK(traffic.communicators == static_cast<long>(wanted));
        CHECK(traffic.collectives == 0);
    }
}

}  // namespace

TEST_CASE("mesh_groups gives the groups of Megatron's and of PyTorch's documentation") {
    on_ranks({1}, [](const Communicator&) {
        const std::vector<MeshDim> sixteen = {{"pp", 4}, {"dp", 2}, {"tp", 2}};
        INFO("Megatron: pp=4, dp=2, tp=2, order tp-dp-pp: the first name varies fastest");
        CHECK(
            mesh_groups(sixteen, "tp-dp-pp", "tp") ==
            Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}
        );
        CHECK(
            mesh_groups(sixteen, "tp-dp-pp", "dp") ==
            Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}
        );
        CHECK(
            mesh_groups(sixteen, "tp-dp-pp", "pp") ==
            Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}
        );
        const std::vector<MeshDim> eight = {{"dp", 2}, {"tp", 4}};
        INFO("PyTorch: [[0, 1, 2, 3], [4, 5, 6, 7]] is dp=2, tp=4, order tp-dp");
        CHECK(mesh_groups(eight, "tp-dp", "dp") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
        CHECK(mesh_groups(eight, "tp-dp", "tp") == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
    });
}

TEST_CASE("mesh_groups and mesh_coordinates are right in every order, also along several dimensions"
) {
    on_ranks({1}, [](const Communicator&) {
        Mesh mesh{{{"e+dp", 2}, {"dp", 3}, {"ep", 1}, {"cp", 4}}, {"cp", "dp", "e+dp", "ep"}};
        const Names alongs[] = {
            {"dp"},
            {"e+dp"},
            {"ep"},
            {"cp"},
            {"cp", "dp"},
            {"dp", "cp"},
            {"e+dp", "ep", "dp"},
            {"dp", "cp", "ep", "e+dp"}};
        do {
            const std::string order = joined(mesh.order);
            INFO(text_of(mesh.dims, order));
            for (const Names& along : alongs) {
                REQUIRE(same_groups(mesh_groups(mesh.dims, order, joined(along)), mesh, along));
            }
            const Groups coordinates = coordinates_of(mesh);
            for (std::size_t rank = 0; rank < coordinates.size(); ++rank) {
                INFO("rank " << rank << ", in the order of dims");
                REQUIRE(
                    mesh_coordinates(mesh.dims, order, static_cast<int>(rank)) == coordinates[rank]
                );
            }
        } while (std::ranges::next_permutation(mesh.order).found);
    });
}

TEST_CASE("mesh_coordinates takes a few operations for as many ranks as an int can count") {
    on_ranks({1}, [](const Communicator&) {
        constexpr int kMost = std::numeric_limits<int>::max();
        const std::vector<MeshDim> dims = {{"dp", kMost / 2}, {"tp", 2}};
        std::vector<int> got;
        CHECK(takes_a_few_operations("the ranks of a mesh", [&] {
            got = mesh_coordinates(dims, "tp-dp", kMost - 2);
        }));
        CHECK(got == std::vector{kMost / 2 - 1, 1});
        CHECK(mesh_coordinates({{"dp", kMost}}, "dp", kMost - 1) == std::vector{kMost - 1});
    });
}

TEST_CASE("the functions refuse what is no mesh, and ranks and names that it does not have") {
    on_ranks({1}, [](const Communicator&) {
        for (const auto& [wrong, order, why] : no_meshes()) {
            INFO(text_of(wrong, order) << ": " << why);
            CHECK_THROWS_AS(mesh_coordinates(wrong, order, 0), std::invalid_argument);
            CHECK_THROWS_AS(mesh_groups(wrong, order, "dp"), std::invalid_argument);
        }
        const std::vector<MeshDim> dims = {{"tp", 2}, {"dp", 3}, {"pp", 4}};
        for (const int rank : {24, -1}) {
            INFO("rank " << rank << " of 24");
            CHECK_THROWS_AS(mesh_coordinates(dims, "tp-dp-pp", rank), std::invalid_argument);
        }
        for (const char* names : {"cp", "", "tp-cp", "tp-tp"}) {
            INFO("along \"" << names << "\" of tp, dp and pp");
            CHECK_THROWS_AS(mesh_groups(dims, "tp-dp-pp", names), std::invalid_argument);
        }
    });
}

TEST_CASE("DeviceMesh makes the groups along each dimension, by a split for each, and no message") {
    on_meshes({8, 3, 1}, [](const Mesh& wanted, const Communicator& comm) {
        std::optional<DeviceMesh> mesh;
        const Traffic traffic =
            record(comm, [&] { mesh.emplace(wanted.dims, joined(wanted.order), comm); });
        check_mesh(*mesh, wanted, comm);
        check_splits(traffic, wanted.dims.size());
    });
}

TEST_CASE("DeviceMesh splits any communicator, by the ranks there") {
    on_meshes({8}, [](const Mesh& wanted, const Communicator& comm) {
        const Communicator other = comm.split(0, 3 * comm.rank() % comm.size());
        INFO("rank " << comm.rank() << " of the job is rank " << other.rank() << " in comm");
        check_mesh(DeviceMesh(wanted.dims, joined(wanted.order), other), wanted, other);
    });
}

TEST_CASE("flatten makes one group along several dimensions, named in any order") {
    on_ranks({8}, [](const Communicator& comm) {
        const Mesh wanted{{{"dp", 2}, {"pp", 2}, {"tp", 2}}, {"tp", "dp", "pp"}};
        const DeviceMesh mesh(wanted.dims, joined(wanted.order), comm);
        const Names alongs[] = {
            {"dp"}, {"dp", "tp"}, {"tp", "dp"}, {"pp", "dp"}, {"tp", "pp", "dp"}};
        for (const Names& along : alongs) {
            INFO(text_of(wanted.dims, joined(wanted.order)) << ", along " << joined(along));
            std::optional<Communicator> group;
            const Traffic traffic = record(comm, [&] { group = mesh.flatten(along); });
            CHECK(same_members(
                ranks_in(comm, *group), wanted, along, static_cast<std::size_t>(comm.rank())
            ));
            check_splits(traffic, 1);
        }
    });
}

TEST_CASE("DeviceMesh refuses what is no mesh of these ranks, before it makes a group") {
    on_ranks({8}, [](const Communicator& comm) {
        auto wrong = no_meshes();
        wrong.push_back({{{"dp", 2}, {"tp", 2}}, "dp-tp", "4 ranks in place of 8"});
        wrong.push_back({{{"dp", 4}, {"tp", 4}}, "dp-tp", "16 ranks in place of 8"});
        for (const NoMesh& one : wrong) {
            const Answer got = answer(comm, [&] { DeviceMesh(one.dims, one.order, comm); });
            INFO(text_of(one.dims, one.order) << ": " << one.why);
            INFO("it must throw before it makes a group");
            CHECK(got.what == kInvalidArgument);
            CHECK(got.traffic.communicators == 0);
        }
    });
}

TEST_CASE("DeviceMesh refuses names that it does not have, and says which") {
    on_ranks({2}, [](const Communicator& comm) {
        const DeviceMesh mesh({{"edp", 1}, {"tp", 2}}, "tp-edp", comm);
        const auto refuses = [&](const std::string& name, const std::function<void()>& call) {
            CHECK(throws_error<std::invalid_argument>(call, {name}));
        };
        for (const std::string name : {"pipes", "dp"}) {
            refuses(name, [&] { static_cast<void>(mesh.group(name)); });
            refuses(name, [&] { static_cast<void>(mesh.coordinate(name)); });
            refuses(name, [&] { static_cast<void>(mesh.size(name)); });
        }
        for (const Names& names : {Names{"dp"}, {"tp", "dp"}, {"tp", "tp"}, {}}) {
            const Answer got = answer(comm, [&] { static_cast<void>(mesh.flatten(names)); });
            INFO(
                "flatten along \"" << joined(names) << "\": it must throw before it makes a group"
            );
            CHECK(got.what == kInvalidArgument);
            CHECK(got.traffic.communicators == 0);
        }
    });
}

TEST_CASE("two meshes of the same ranks know nothing of each other, and may be moved") {
    on_ranks({8}, [](const Communicator& comm) {
        const Mesh first{{{"dp", 2}, {"tp", 4}}, {"tp", "dp"}};
        const Mesh second{{{"tp", 2}, {"dp", 4}}, {"tp", "dp"}};
        DeviceMesh one(first.dims, "tp-dp", comm);
        const Communicator& group = one.group("tp");
        const DeviceMesh two(second.dims, "tp-dp", comm);
        const DeviceMesh moved = std::move(one);
        CHECK(moved.flatten({"dp", "tp"}).size() == 8);
        {
            INFO("the first of two that are alive, moved");
            check_mesh(moved, first, comm);
            CHECK(group.rank() == moved.coordinate("tp"));
        }
        INFO("the second of two that are alive");
        check_mesh(two, second, comm);
    });
}
