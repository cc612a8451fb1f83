// A descriptor whose readiness is waited for; all reading and writing is done by direct system
// calls.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

namespace fairlock::net {

// Closes what it holds. Bound to the io_context's own executor, which is cheaper than any executor.
using Descriptor =
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

}  // namespace fairlock::net
