#include "exercises/04_groups_and_rendezvous/full_mesh.hpp"

namespace dist {

std::vector<net::Socket> full_mesh(
    Store& store, int rank, int size, const std::string& address, Store::Duration timeout
) {
    // TODO: listen, and say where in the store. Connect to the lower ranks, accept the higher ones. Who tells you which
    // rank has just connected? What if one never comes?
    throw NotImplemented("full_mesh");
}

}  // namespace dist
