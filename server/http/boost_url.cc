// Boost.URL is used as a header-only library; its code is compiled in this file.
#include <boost/url/src.hpp>

namespace fairlock::http {}
