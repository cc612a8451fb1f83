// Boost.URL is used header-only; this file compiles its code.
#include <boost/url/src.hpp>

namespace fairlock::http {}
