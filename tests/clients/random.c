/*
 * Throws arguments at the device that are made of chance, and lives: random SEED CALLS. Pointers lead to memory that is
 * readable, writable, half there, or nowhere; structures are all chance, or sound in all but a word.
 */
#include "client.h"

static uint64_t state;

static uint64_t chance(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static uint8_t *pages;

/* Numbers that have meanings, and others. */
static uint64_t number(void)
{
	switch (chance() % 8) {
	case 0:
		return chance();
	case 1:
		return UINT64_MAX - chance() % 8;
	case 2:
		/* The end of what is there. */
		return (uintptr_t)pages + 0x4000 - chance() % 64;
	case 3:
		/* Readable only. */
		return (uintptr_t)pages + 0x8000 + chance() % 0x4000;
	case 4:
		return (uintptr_t)pages + chance() % 0x4000 / 8 * 8;
	case 5:
		return 0;
	default:
		return chance() % 140;
	}
}

int main(int argc, char **argv)
{
	static const unsigned long calls[] = {
		DRM_IOCTL_ANE_BO_INIT, DRM_IOCTL_ANE_BO_FREE, DRM_IOCTL_ANE_SUBMIT, DRM_IOCTL_ANE_GET_PARAM,
		DRM_IOCTL_ANE_BO_CREATE, DRM_IOCTL_ANE_BO_INFO, DRM_IOCTL_ANE_BO_MAP, DRM_IOCTL_ANE_BO_UNMAP,
		DRM_IOCTL_ANE_BO_PREMAP, DRM_IOCTL_ANE_PROGRAM_CREATE, DRM_IOCTL_ANE_SUBMIT_REQUEST,
		DRM_IOCTL_ANE_SUBMIT_CHAIN, DRM_IOCTL_ANE_WAIT, DRM_IOCTL_ANE_CANCEL, DRM_IOCTL_ANE_GET_FAULT,
		DRM_IOCTL_ANE_GET_STATS, DRM_IOCTL_ANE_PE_MMU_MAP, IOCTL_VERSION, 0x4008646bul, 0xc1006441ul,
	};
	CHECK(argc == 3);
	state = strtoull(argv[1], NULL, 0) * 2654435761u + 1;
	int fd = open_device();
	CHECK(fd >= 0);
	pages = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	CHECK(mprotect(pages + 0x4000, 0x4000, PROT_NONE) == 0 && mprotect(pages + 0x8000, 0x4000, PROT_READ) == 0);
	CHECK(munmap(pages + 0xc000, 0x4000) == 0);
	unsigned done = 0;
	for (long call = strtol(argv[2], NULL, 0); call > 0; call--) {
		/* The first page is what arguments and arrays are made of. */
		uint64_t *words = (uint64_t *)pages;
		for (unsigned word = 0; word < 64; word++)
			words[chance() % 2048] = number();
		unsigned long request = calls[chance() % (sizeof calls / sizeof *calls)];
		uint8_t *argument = chance() % 8 ? pages + chance() % 0x3f00 / 8 * 8 : (uint8_t *)(uintptr_t)number();
		/* Not for ever: small numbers are times that have passed. */
		if (request == DRM_IOCTL_ANE_WAIT && argument >= pages && argument < pages + 0x3f00)
			((struct drm_ane_wait *)argument)->timeout_ns = (int64_t)(chance() % 1000);
		int result = ioctl(fd, request, argument);
		CHECK(result == 0 || (result == -1 && errno > 0 && errno != ENODEV));
		done += result == 0;
	}
	/* It is still a device. */
	struct drm_ane_get_param param = { .param = ANE_PARAM_PAGE_SIZE };
	CHECK(ioctl(fd, DRM_IOCTL_ANE_GET_PARAM, &param) == 0 && param.value == 0x4000);
	printf("%u\n", done);
	return 0;
}
