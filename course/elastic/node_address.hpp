// Who this machine is to the others.
#pragma once

#include <string>

namespace dist::elastic {

/// Whether `host` is a name or an address of this machine.
bool is_this_machine(const std::string& host);

/// The address of this machine from which it reaches host and port; nothing is sent. On the host itself that may be a
/// loopback address, which means another machine there: then one that others reach, if this machine has any.
///
/// Errors  Error, which names the host, if there is no such one.
std::string address_for_others(const std::string& host, int port);

}  // namespace dist::elastic
