// device_mesh: groups as Megatron and PyTorch make them, coordinates, and what making them may cost.
#include "exercises/08_model_parallel/device_mesh.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/quick.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// A mesh as a test gives it.
struct MeshCase {
    std::vector<MeshDim> dims;
    std::string order;
};

/// "dp=2, tp=3, order tp-dp"
std::string text_of(const MeshCase& mesh) {
    std::string text;
    for (const MeshDim& dim : mesh.dims) {
        text += dim.name + "=" + std::to_string(dim.size) + ", ";
    }
    return text + "order " + mesh.order;
}

std::vector<std::string> names_of(const std::string& joined) {
    std::vector<std::string> names;
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = joined.find('-', begin);
        names.push_back(joined.substr(begin, end == std::string::npos ? end : end - begin));
    }
    return names;
}

int ranks_of(const MeshCase& mesh) {
    int ranks = 1;
    for (const MeshDim& dim : mesh.dims) {
        ranks *= dim.size;
    }
    return ranks;
}

/// The coordinates of all ranks, in the order of dims: counted up as a mileage counter does.
std::vector<std::vector<int>> all_coordinates(const MeshCase& mesh) {
    std::vector<std::vector<int>> all;
    std::vector<int> now(mesh.dims.size(), 0);
    while (static_cast<int>(all.size()) < ranks_of(mesh)) {
        all.push_back(now);
        for (const std::string& name : names_of(mesh.order)) {
            const auto is_it = [&](const MeshDim& dim) { return dim.name == name; };
            const auto dim = std::ranges::find_if(mesh.dims, is_it);
            int& coordinate = now[static_cast<std::size_t>(dim - mesh.dims.begin())];
            coordinate = (coordinate + 1) % dim->size;
            if (coordinate != 0) {
                break;
            }
        }
    }
    return all;
}

/// The ranks that differ from `rank` in dimensions of `names` alone; if `turned`, in all others.
std::vector<int> members(
    const MeshCase& mesh, const std::string& names, int rank, bool turned = false
) {
    const auto all = all_coordinates(mesh);
    const std::vector<std::string> wanted = names_of(names);
    std::vector<int> ranks;
    for (std::size_t other = 0; other < all.size(); ++other) {
        bool in = true;
        for (std::size_t i = 0; i < mesh.dims.size(); ++i) {
            const bool may_differ = (std::ranges::count(wanted, mesh.dims[i].name) > 0) != turned;
            in = in && (may_differ || all[other][i] == all[static_cast<std::size_t>(rank)][i]);
        }
        if (in) {
            ranks.push_back(static_cast<int>(other));
        }
    }
    return ranks;
}

std::string list_of(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) {
        text += (text.empty() ? "" : ", ") + std::to_string(number);
    }
    return "[" + text + "]";
}

/// The same mesh whose order is turned around, and the one whose order is that of dims.
MeshCase turned_around(MeshCase mesh) {
    std::vector<std::string> names = names_of(mesh.order);
    std::ranges::reverse(names);
    mesh.order.clear();
    for (const std::string& name : names) {
        mesh.order += (mesh.order.empty() ? "" : "-") + name;
    }
    return mesh;
}

MeshCase in_order_of_dims(MeshCase mesh) {
    mesh.order.clear();
    for (const MeshDim& dim : mesh.dims) {
        mesh.order += (mesh.order.empty() ? "" : "-") + dim.name;
    }
    return mesh;
}

/// How a mesh would be dealt out with a likely mistake.
std::vector<std::pair<MeshCase, std::string>> misread(const MeshCase& mesh) {
    const std::string by_dims =
        ": as if ranks were dealt out in the order of dims: order says which varies fastest";
    return {
        {turned_around(mesh), ": as if the last name of order varied fastest: the first does"},
        {in_order_of_dims(mesh), by_dims},
        {turned_around(in_order_of_dims(mesh)), by_dims}};
}

Comparison same_coordinates(const std::vector<int>& got, const MeshCase& mesh, int rank) {
    const auto of_rank = [rank](const MeshCase& one) {
        return all_coordinates(one)[static_cast<std::size_t>(rank)];
    };
    if (got == of_rank(mesh)) {
        return {};
    }
    std::string text = "rank " + std::to_string(rank) + ": expected coordinates " +
                       list_of(of_rank(mesh)) + ", in the order of dims, got " + list_of(got);
    for (const auto& [other, why] : misread(mesh)) {
        if (got == of_rank(other)) {
            return {false, text + why};
        }
    }
    return {false, text};
}

/// What a wrong group is likely to be.
std::string likely(
    const std::vector<int>& got, const MeshCase& mesh, const std::string& names, int rank
) {
    const std::vector<int> right = members(mesh, names, rank);
    if (std::ranges::is_permutation(got, right)) {
        return ": the right ranks in another order: they ascend";
    }
    for (const auto& [other, why] : misread(mesh)) {
        if (got == members(other, names, rank)) {
            return why;
        }
    }
    if (got == members(mesh, names, rank, true)) {
        return ": these have this coordinate in common; ranks of a group have all others in common";
    }
    if (got.empty()) {
        return ": an empty communicator: a rank is in a group along every dimension";
    }
    return "";
}

Comparison same_members(
    const std::vector<int>& got, const MeshCase& mesh, const std::string& names, int rank
) {
    const std::vector<int> right = members(mesh, names, rank);
    if (got == right) {
        return {};
    }
    return {
        false, "along " + names + ", the group of rank " + std::to_string(rank) + ": expected " +
                   list_of(right) + ", got " + list_of(got) + likely(got, mesh, names, rank)};
}

/// All groups, in the order of their first ranks.
std::vector<std::vector<int>> all_members(const MeshCase& mesh, const std::string& names) {
    std::vector<std::vector<int>> all;
    for (int rank = 0; rank < ranks_of(mesh); ++rank) {
        std::vector<int> group = members(mesh, names, rank);
        if (group.front() == rank) {
            all.push_back(std::move(group));
        }
    }
    return all;
}

Comparison same_groups(
    const std::vector<std::vector<int>>& got, const MeshCase& mesh, const std::string& names
) {
    const auto right = all_members(mesh, names);
    if (got == right) {
        return {};
    }
    for (std::size_t i = 0; i < std::min(got.size(), right.size()); ++i) {
        const Comparison same = same_members(got[i], mesh, names, right[i].front());
        if (!same) {
            return {false, "group " + std::to_string(i) + " " + same.text};
        }
    }
    return {
        false, "along " + names + ": expected " + std::to_string(right.size()) + " groups, got " +
                   std::to_string(got.size())};
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
    MeshCase mesh;
    std::string why;
};

std::vector<NoMesh> no_meshes() {
    constexpr int kMany = 1 << 16;
    return {
        {{{}, ""}, "no dimension"},
        {{{{"dp", 2}, {"tp", 4}}, "dp"}, "order lacks tp"},
        {{{{"dp", 2}, {"tp", 4}}, "dp-tp-pp"}, "order has pp, which is no dimension"},
        {{{{"dp", 2}, {"tp", 4}}, "dp-pp"}, "order has pp in the place of tp"},
        {{{{"dp", 2}, {"tp", 4}}, "dp-tp-dp"}, "order has dp twice"},
        {{{{"dp", 2}, {"tp", 4}}, "dp-dp"}, "order has dp twice, and no tp"},
        {{{{"dp", 2}, {"tp", 4}}, "dp--tp"}, "order has an empty name"},
        {{{{"dp", 2}, {"tp", 4}}, "dptp"}, "order has no '-'"},
        {{{{"dp", 2}, {"dp", 4}}, "dp-dp"}, "two dimensions are called dp"},
        {{{{"dp", 2}, {"dp", 4}}, "dp"}, "two dimensions are called dp, and order has it once"},
        {{{{"", 2}, {"tp", 4}}, "-tp"}, "a name is empty"},
        {{{{"dp-tp", 8}}, "dp-tp"}, "a name has a '-'"},
        {{{{"dp", 0}, {"tp", 8}}, "dp-tp"}, "a size is 0"},
        {{{{"dp", -2}, {"tp", -4}}, "dp-tp"}, "sizes are negative"},
        {{{{"dp", kMany}, {"tp", kMany}}, "dp-tp"}, "2^32 ranks"},
        {{{{"dp", 3}, {"tp", 1'431'655'768}}, "dp-tp"}, "2^32 + 8 ranks: 8, if an int wraps"}};
}

using Groups = std::vector<std::vector<int>>;

const MeshCase kMegatron{{{"tp", 2}, {"dp", 3}, {"pp", 4}}, "tp-dp-pp"};

/// Meshes of p ranks: several orders, lines, dimensions of size 1, a name inside of another one.
std::vector<MeshCase> meshes_of(int p) {
    std::vector<MeshCase> all = {
        {{{"dp", p}}, "dp"}, {{{"pp", 1}, {"dp", p}, {"tp", 1}}, "tp-pp-dp"}};
    if (p == 8) {
        for (const char* order : {"tp-dp-pp", "pp-tp-dp", "dp-pp-tp"}) {
            all.push_back({{{"dp", 2}, {"pp", 2}, {"tp", 2}}, order});
        }
        all.push_back({{{"edp", 4}, {"dp", 2}}, "edp-dp"});
        all.push_back({{{"pp", 2}, {"ep", 1}, {"tp", 4}}, "pp-tp-ep"});
    }
    if (p == 6) {
        all.push_back({{{"dp", 2}, {"tp", 3}}, "tp-dp"});
        all.push_back({{{"dp", 2}, {"tp", 3}}, "dp-tp"});
    }
    return all;
}

void on_meshes(
    const std::vector<int>& worlds,
    const std::function<void(const MeshCase&, const Communicator&)>& body
) {
    on_ranks_each(
        worlds, [](int p) { return meshes_of(p).size(); },
        [&](const Communicator& comm, std::size_t number) {
            const MeshCase mesh = meshes_of(comm.size())[number];
            INFO(text_of(mesh));
            body(mesh, comm);
        }
    );
}

/// Each group of the mesh has the ranks that it must have, and this rank the coordinates.
void check_mesh(const DeviceMesh& mesh, const MeshCase& wanted, const Communicator& comm) {
    const int r = comm.rank();
    const std::vector<int> coordinates = all_coordinates(wanted)[static_cast<std::size_t>(r)];
    for (std::size_t i = 0; i < wanted.dims.size(); ++i) {
        const std::string name = wanted.dims[i].name;
        CHECK(same_members(ranks_in(comm, mesh.group(name)), wanted, name, r));
        INFO("dimension " << name << ", rank " << r);
        CHECK(mesh.coordinate(name) == coordinates[i]);
        CHECK(mesh.size(name) == wanted.dims[i].size);
    }
}

/// Ranks 0 and 1 are ranks 0 and 1 of a and of b as well. The first has two messages with one tag under way to the
/// second, in a and in b, and they are received the other way around.
Comparison do_not_meet(const Communicator& a, const Communicator& b, const Communicator& comm) {
    const auto in_a = input(5, 0, 1);
    const auto in_b = input(5, 0, 2);
    auto got_a = poison(5);
    auto got_b = poison(5);
    if (comm.rank() == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(in_a.data(), 5, MPI_FLOAT, 1, 7, a.handle(), &request);
        send(in_b, 1, b, 7);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return {};
    }
    if (comm.rank() == 1) {
        recv(got_b, 0, b, 7);
        recv(got_a, 0, a, 7);
        return same(got_b, in_b, 0, {{in_a, "that was sent in the other communicator"}});
    }
    return {};
}

}  // namespace

TEST_CASE("mesh_groups gives the groups of Megatron's documentation") {
    on_ranks({1}, [](const Communicator&) {
        INFO("tp=2, dp=3, pp=4, order tp-dp-pp: the first name varies fastest");
        CHECK(
            mesh_groups(kMegatron.dims, "tp-dp-pp", "dp") ==
            Groups{
                {0, 2, 4},
                {1, 3, 5},
                {6, 8, 10},
                {7, 9, 11},
                {12, 14, 16},
                {13, 15, 17},
                {18, 20, 22},
                {19, 21, 23}}
        );
        const std::vector<MeshDim> sixteen = {{"pp", 4}, {"dp", 2}, {"tp", 2}};
        INFO("pp=4, dp=2, tp=2, order tp-dp-pp");
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
    });
}

TEST_CASE("mesh_groups gives the groups of PyTorch's documentation, whose last dimension is fastest"
) {
    on_ranks({1}, [](const Communicator&) {
        INFO("[[0, 1, 2, 3], [4, 5, 6, 7]] is dp=2, tp=4, order tp-dp");
        const std::vector<MeshDim> dims = {{"dp", 2}, {"tp", 4}};
        CHECK(mesh_groups(dims, "tp-dp", "dp") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
        CHECK(mesh_groups(dims, "tp-dp", "tp") == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
    });
}

TEST_CASE("mesh_groups and mesh_coordinates are right in every order of the names") {
    on_ranks({1}, [](const Communicator&) {
        std::vector<std::string> names = {"cp", "dp", "edp", "ep"};
        do {
            const MeshCase mesh{
                {{"edp", 2}, {"dp", 3}, {"ep", 1}, {"cp", 4}},
                names[0] + "-" + names[1] + "-" + names[2] + "-" + names[3]};
            INFO(text_of(mesh));
            for (int rank = 0; rank < ranks_of(mesh); ++rank) {
                REQUIRE(same_coordinates(mesh_coordinates(mesh.dims, mesh.order, rank), mesh, rank)
                );
            }
            for (const char* along : {"dp", "edp", "ep", "cp"}) {
                REQUIRE(same_groups(mesh_groups(mesh.dims, mesh.order, along), mesh, along));
            }
        } while (std::ranges::next_permutation(names).found);
    });
}

TEST_CASE("mesh_groups joins dimensions, named in any order: every rank is in one group") {
    on_ranks({1}, [](const Communicator&) {
        for (const char* order : {"tp-dp-pp", "pp-dp-tp", "dp-pp-tp"}) {
            const MeshCase mesh{kMegatron.dims, order};
            for (const char* along :
                 {"tp-dp", "dp-tp", "dp-pp", "pp-dp", "tp-pp", "pp-tp", "pp-tp-dp"}) {
                INFO(text_of(mesh));
                const Groups groups = mesh_groups(mesh.dims, mesh.order, along);
                CHECK(same_groups(groups, mesh, along));
                std::vector<int> all;
                for (const auto& group : groups) {
                    all.insert(all.end(), group.begin(), group.end());
                }
                std::ranges::sort(all);
                INFO("each rank once, along " << along);
                CHECK(list_of(all) == list_of(members(mesh, "tp-dp-pp", 0)));
            }
        }
    });
}

TEST_CASE("mesh_coordinates takes a few operations for as many ranks as an int can count") {
    on_ranks({1}, [](const Communicator&) {
        constexpr int kMost = std::numeric_limits<int>::max();
        const std::vector<MeshDim> dims = {{"dp", kMost / 2}, {"tp", 2}};
        std::vector<int> got;
        const Comparison quick = takes_a_few_operations("the ranks of a mesh", [&] {
            got = mesh_coordinates(dims, "tp-dp", kMost - 2);
        });
        CHECK(quick);
        CHECK(list_of(got) == list_of({kMost / 2 - 1, 1}));
        CHECK(mesh_coordinates({{"dp", kMost}}, "dp", kMost - 1) == std::vector{kMost - 1});
    });
}

TEST_CASE("the functions refuse what is no mesh, and ranks and names that it does not have") {
    on_ranks({1}, [](const Communicator&) {
        for (const NoMesh& wrong : no_meshes()) {
            const MeshCase& mesh = wrong.mesh;
            INFO(text_of(mesh) << ": " << wrong.why);
            CHECK_THROWS_AS(mesh_coordinates(mesh.dims, mesh.order, 0), std::invalid_argument);
            CHECK_THROWS_AS(mesh_groups(mesh.dims, mesh.order, "dp"), std::invalid_argument);
        }
        for (const int rank : {24, 25, -1, std::numeric_limits<int>::max()}) {
            INFO("rank " << rank << " of 24");
            CHECK_THROWS_AS(
                mesh_coordinates(kMegatron.dims, kMegatron.order, rank), std::invalid_argument
            );
        }
        for (const char* names : {"cp", "", "tp-cp", "tp-tp", "tp-", "t", "tpdp"}) {
            INFO("along \"" << names << "\" of tp, dp and pp");
            CHECK_THROWS_AS(
                mesh_groups(kMegatron.dims, kMegatron.order, names), std::invalid_argument
            );
        }
    });
}

TEST_CASE("DeviceMesh makes the groups along each dimension, and knows this rank's coordinates") {
    on_meshes({8, 6, 1, 4, 5}, [](const MeshCase& wanted, const Communicator& comm) {
        check_mesh(DeviceMesh(wanted.dims, wanted.order, comm), wanted, comm);
    });
}

TEST_CASE("DeviceMesh makes one split for each dimension, and sends no message") {
    on_meshes({8, 6, 1}, [](const MeshCase& wanted, const Communicator& comm) {
        const Traffic traffic =
            record(comm, [&] { const DeviceMesh mesh(wanted.dims, wanted.order, comm); });
        CHECK(within(traffic, {.messages_sent = exactly(0)}));
        if (traffic.counted) {
            INFO("communicators that were made, one for each dimension; and collectives");
            CHECK(traffic.communicators == static_cast<long>(wanted.dims.size()));
            CHECK(traffic.collectives == 0);
        }
    });
}

TEST_CASE("DeviceMesh splits any communicator, by the ranks there") {
    on_meshes({8, 6}, [](const MeshCase& wanted, const Communicator& comm) {
        const Communicator other = comm.split(0, 3 * comm.rank() % comm.size());
        INFO("rank " << comm.rank() << " of the job is rank " << other.rank() << " in comm");
        check_mesh(DeviceMesh(wanted.dims, wanted.order, other), wanted, other);
    });
}

TEST_CASE("messages of two groups, and of the communicator, never meet") {
    on_ranks({8, 2}, [](const Communicator& comm) {
        const int p = comm.size();
        const DeviceMesh mesh({{"ep", 1}, {"dp", p / 2}, {"tp", 2}}, "tp-dp-ep", comm);
        const Communicator all = mesh.flatten({"tp", "dp"});
        const DeviceMesh line({{"dp", p}}, "dp", comm);
        const Comparison along_tp = do_not_meet(mesh.group("tp"), all, comm);
        const Comparison with_comm = do_not_meet(all, comm, comm);
        const Comparison with_line = do_not_meet(line.group("dp"), comm, comm);
        INFO("two messages from rank 0 to rank 1, both with tag 7, received the other way around");
        CHECK(along_tp);
        CHECK(with_comm);
        CHECK(with_line);
    });
}

TEST_CASE("flatten makes one group along several dimensions, named in any order") {
    on_ranks_each(
        {8}, [](int) { return std::size_t{3}; },
        [](const Communicator& comm, std::size_t number) {
            const char* orders[] = {"tp-dp-pp", "pp-dp-tp", "dp-pp-tp"};
            const MeshCase wanted{{{"dp", 2}, {"pp", 2}, {"tp", 2}}, orders[number]};
            INFO(text_of(wanted));
            const DeviceMesh mesh(wanted.dims, wanted.order, comm);
            for (const char* along : {"dp", "dp-tp", "tp-dp", "pp-dp", "tp-pp-dp"}) {
                std::optional<Communicator> group;
                const Traffic traffic =
                    record(comm, [&] { group = mesh.flatten(names_of(along)); });
                const Comparison result =
                    same_members(ranks_in(comm, *group), wanted, along, comm.rank());
                const Comparison spent = within(traffic, {.messages_sent = exactly(0)});
                CHECK(result);
                CHECK(spent);
                if (traffic.counted) {
                    INFO("one split");
                    CHECK(traffic.communicators == 1);
                    CHECK(traffic.collectives == 0);
                }
            }
            check_mesh(mesh, wanted, comm);
        }
    );
}

TEST_CASE("DeviceMesh refuses what is no mesh of these ranks, before it makes a group") {
    on_ranks({8}, [](const Communicator& comm) {
        auto wrong = no_meshes();
        wrong.push_back({{{{"dp", 2}, {"tp", 2}}, "dp-tp"}, "4 ranks in place of 8"});
        wrong.push_back({{{{"dp", 4}, {"tp", 4}}, "dp-tp"}, "16 ranks in place of 8"});
        wrong.push_back({{{{"dp", 3}, {"tp", 3}}, "dp-tp"}, "9 ranks in place of 8"});
        for (const NoMesh& one : wrong) {
            const MeshCase& mesh = one.mesh;
            const Answer got = answer(comm, [&] { DeviceMesh(mesh.dims, mesh.order, comm); });
            INFO(text_of(mesh) << ": " << one.why << ": it must throw before it makes a group");
            CHECK(got.what == kInvalidArgument);
            CHECK(got.traffic.communicators == 0);
        }
    });
}

TEST_CASE("DeviceMesh refuses names that it does not have, and says which") {
    on_ranks({2}, [](const Communicator& comm) {
        const DeviceMesh mesh({{"edp", 1}, {"tp", 2}}, "tp-edp", comm);
        for (const std::string name : {"pipes", "dp", "edp-tp"}) {
            const std::vector<std::pair<std::string, Answer>> answers = {
                {"group", answer(comm, [&] { static_cast<void>(mesh.group(name)); })},
                {"coordinate", answer(comm, [&] { static_cast<void>(mesh.coordinate(name)); })},
                {"size", answer(comm, [&] { static_cast<void>(mesh.size(name)); })}};
            for (const auto& made : answers) {
                const Answer& got = made.second;
                INFO(made.first << "(\"" << name << "\"): it threw \"" << got.text << '"');
                CHECK(got.what == kInvalidArgument);
                CHECK(got.text.find(name) != std::string::npos);
            }
        }
        for (const char* names : {"dp", "tp-dp", "tp-tp", ""}) {
            std::vector<std::string> wrong = names_of(names);
            if (wrong.front().empty()) {
                wrong.clear();
            }
            const Answer got = answer(comm, [&] { static_cast<void>(mesh.flatten(wrong)); });
            INFO("flatten along \"" << names << "\": it must throw before it makes a group");
            CHECK(got.what == kInvalidArgument);
            CHECK(got.traffic.communicators == 0);
        }
    });
}

TEST_CASE("two meshes of the same ranks know nothing of each other, and may be moved") {
    on_ranks({8}, [](const Communicator& comm) {
        const MeshCase first{{{"dp", 2}, {"tp", 4}}, "tp-dp"};
        const MeshCase second{{{"tp", 2}, {"dp", 4}}, "tp-dp"};
        DeviceMesh one(first.dims, first.order, comm);
        const Communicator& group = one.group("tp");
        const DeviceMesh two(second.dims, second.order, comm);
        const DeviceMesh moved = std::move(one);
        INFO("the first of two that are alive, moved");
        check_mesh(moved, first, comm);
        CHECK(same_members(ranks_in(comm, group), first, "tp", comm.rank()));
        const Communicator flat = moved.flatten({"dp", "tp"});
        CHECK(flat.size() == 8);
        INFO("the second of two that are alive");
        check_mesh(two, second, comm);
    });
}
