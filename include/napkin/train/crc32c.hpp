// CRC-32C (Castagnoli), the checksum of iSCSI and ext4: finds damage, does not stop an attacker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace napkin {

/// The checksum of `data`, or of what went before and `data` if `before` is the former's checksum.
/// Source: RFC 3720 appendix B.4; "123456789" gives e3069283.
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t before = 0);

}  // namespace napkin
