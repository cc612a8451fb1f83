// The name that fairlockctl gives its connections.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::cli {

// "fairlockctl/USER@HOST", shown with its holds and in the server's log. A client's name may
// contain only ASCII characters and no spaces, so other bytes become '_'; each part is cut after
// kNamePartBytesMax bytes. The user of the program can choose both, so they prove nothing.
inline constexpr std::size_t kNamePartBytesMax = 64;
std::string NameFor(std::string_view user, std::string_view host);

// The name for the user that runs this process, as the system's user database names it ("uid1000"
// if it does not), on this machine. Looks them up once.
const std::string& OwnName();

}  // namespace fairlock::cli
