// Boost.JSON is used from its headers; this is the one file that holds its code.
#include <boost/json/src.hpp>

namespace fairlock::json {}
