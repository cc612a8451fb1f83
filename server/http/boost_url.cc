// Boost.URL is used from its headers; this is the one file that holds its code.
#include <boost/url/src.hpp>

namespace fairlock::http {}
