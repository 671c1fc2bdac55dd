/* What a fresh file gives: buffers at ascending device addresses from 0x4000, in whole pages, zeroed. */
#include "client.h"

int main(void)
{
	static const uint64_t sizes[] = { 1, 0x4000, 0x4001, 0x10000, 0x3fff };
	uint64_t expected = 0x4000;
	int fd = open_device();
	CHECK(fd >= 0);
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct buffer buffer = new_buffer(fd, sizes[i]);
		struct drm_ane_bo_info info = { .handle = buffer.handle };
		CHECK(ioctl(fd, DRM_IOCTL_ANE_BO_INFO, &info) == 0);
		CHECK(info.size == (sizes[i] + 0x3fff) / 0x4000 * 0x4000);
		CHECK(info.device_address == expected && info.map_offset == buffer.offset);
		expected += info.size;
		/* To the end of the last page, though less was asked for. */
		for (uint64_t at = 0; at < sizes[i]; at++)
			CHECK(buffer.map[at] == 0);
		memset(buffer.map, 0xee, sizes[i]);
	}
	/* What another had is not seen: the memory of the first file is gone with it. */
	close(fd);
	int again = open_device();
	CHECK(again >= 0);
	struct buffer buffer = new_buffer(again, 0x10000);
	for (unsigned at = 0; at < 0x10000; at++)
		CHECK(buffer.map[at] == 0);
	return 0;
}
